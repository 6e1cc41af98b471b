"""The demonstrations of every theorem have the expected verdicts, in words and with symbols that are defined."""

import json

import pytest
from plain_words import unclear_checks, unexplained

from relulab.lab.catalog import find_theorem, theorems
from relulab.lab.show.finding_parts import finding_texts


@pytest.mark.parametrize("id", theorems())
def test_demonstrations_have_the_expected_verdicts_and_are_explained(id):
    theorem = find_theorem(id)
    texts = [theorem.title, theorem.statement, theorem.in_print]
    for d in theorem.demonstrate()["demonstrations"]:
        assert d["verdict"] == d["expected"], d["name"]
        assert unclear_checks(json.loads(json.dumps(d))) == [], d["name"]
        texts += [d["name"], *finding_texts(d)]
    assert unexplained(id, theorem.symbols, texts) == []
