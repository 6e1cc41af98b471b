"""Every theorem's demonstrations come out as they must: it holds, it does not apply, its false variant is refuted."""

import pytest

from relulab.lab.catalog import find_theorem, theorems


@pytest.mark.parametrize("id", theorems())
def test_demonstrations_come_out_as_expected(id):
    for d in find_theorem(id).demonstrate()["demonstrations"]:
        assert d["verdict"] == d["expected"], d["name"]
