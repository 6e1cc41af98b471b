"""The demonstrations of every theorem have the expected verdicts: holds, not applicable, negative control refuted."""

import pytest

from relulab.lab.catalog import find_theorem, theorems


@pytest.mark.parametrize("id", theorems())
def test_demonstrations_have_the_expected_verdicts(id):
    for d in find_theorem(id).demonstrate()["demonstrations"]:
        assert d["verdict"] == d["expected"], d["name"]
