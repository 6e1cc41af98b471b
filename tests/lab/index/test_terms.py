"""Terms of subjects: which of them a text uses, and that the glossary has them in the same words."""

import re
from pathlib import Path

import pytest
from plug_ins import caller, plug_in

from relulab.lab.index import papers, subjects
from relulab.lab.index.subjects import papers_of
from relulab.lab.index.terms import forms, meanings, terms, used_terms
from relulab.lab.show.symbols import undefined
from relulab.lab.terms import TERMS

GLOSSARY = (Path(__file__).parents[3] / "docs" / "glossary.md").read_text(encoding="utf-8")


def own(subject) -> dict[str, str]:
    """The terms of a subject, without the general ones."""
    return {key: text for key, text in terms(f"{papers_of(subject)[0].tag}.T1").items() if key not in TERMS}


@pytest.mark.parametrize("known", [TERMS, *map(own, subjects().values())], ids=["general", *subjects()])
def test_a_term_explains_itself_and_is_in_the_glossary(known):
    assert len(known) > 10
    all_forms = [form for key in known for form in forms(key)]
    assert len(all_forms) == len(set(all_forms)) and all(all_forms)
    for key, text in known.items():
        shown = key.partition(", ")[0]
        assert undefined({shown: text}, [text]) == [], shown
        assert f"\n| {shown} | {text}" in GLOSSARY, f"docs/glossary.md has no row | {shown} | {text} |"


def test_terms_are_found_in_all_their_forms_and_the_longest_first():
    found = used_terms("SS.F7", ["Un-aligned nodes, boundaries, a 10× student and the rank correlation with polarity."])
    assert set(found) == {"alignment error", "hyperplane", "over-parameterization", "student", "rank correlation",
                          "polarity p"}  # fmt: skip
    assert used_terms("SS.F7", ["teacher-aware data"]).keys() == {"teacher-aware"}
    assert not used_terms("SS.F7", ["a benchmark, boxing and observation"])


def test_a_subject_comes_before_the_general_terms_and_own_symbols_before_both():
    assert used_terms("T5.T2", ["teacher"])["teacher"] != used_terms("SS.T1", ["teacher"])["teacher"]
    assert "held-out" in used_terms("XX.T1", ["held-out points"]) and not used_terms("XX.T1", ["teacher"])
    assert meanings("SS.T1", {"box": "my box"}, ["a box"]) == {"box": "my box"}
    assert "gate" in meanings("SS.T1", {"D_l": "the gates"}, [])


def test_every_paper_has_the_terms_of_its_subject():
    assert {tag for tag in papers() if terms(f"{tag}.T1") == TERMS} == set()
    assert re.search("hyperplane", " ".join(terms("LM.F8")))


PRINT = """
from relulab.lab.index import PROBLEMS
from relulab.lab.index.terms import used_terms
for tag in ("GOOD", "LISTED", "NUMBER", "RAISES"):
    print(tag, *used_terms(f"{tag}.T1", ["a length, an epoch"]))
print(*(f"{module} {reason}" for module, reason in PROBLEMS.items()), sep="\\n")
"""


def test_terms_of_plug_ins(tmp_path):
    for name, content in (
        ("good", "TERMS = {'length': 'How long a vector is.'}"), ("listed", "TERMS = ['length']"),
        ("number", "TERMS = {'length': 3}"), ("raises", "raise ValueError('nothing here')"),
    ):  # fmt: skip
        plug_in(tmp_path, name, more={"terms.py": content})
    code, out, err = caller(tmp_path, tmp_path)(code=PRINT)
    assert code == 0, err
    lines = out.splitlines()
    assert lines[:4] == ["GOOD length epoch", "LISTED epoch", "NUMBER epoch", "RAISES epoch"]
    assert all(any(f"{name}.terms" in line and words in line for line in lines) for name, words in (
        ("listed", "expected TERMS"), ("number", "expected TERMS"), ("raises", "nothing here"),
    ))  # fmt: skip
    assert "good.terms" not in out
