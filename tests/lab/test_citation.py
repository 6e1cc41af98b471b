"""Citations: the paper behind an id, and the software."""

import json
from importlib.metadata import version
from pathlib import Path

import pytest

from relulab import UserError
from relulab.lab.citation import cited, software


@pytest.mark.parametrize("wanted, tags", [
    ("SS.F7", ["SS"]), ("s0.f11", ["S0"]), ("recovery", ["SS", "S0"]), ("IB", ["IB"]), ("transfer-risk", ["T5"]),
])  # fmt: skip
def test_the_papers_behind_an_id(wanted, tags):
    assert [paper.tag for paper in cited(wanted)] == tags


def test_an_unknown_id_is_rejected():
    with pytest.raises(UserError, match="did you mean"):
        cited("SS.F77")


def test_the_command_prints_bibtex(here):
    code, out, err = here("cite", "SS.F7")
    assert code == 0 and not err and out.startswith("@inproceedings{tian2020student") and "@software{relulab" in out
    assert out.count("{") == out.count("}")
    assert set(json.loads(here("cite", "IB.T1", "--json")[1])["papers"]) == {"IB"}


def test_the_version_is_the_same_everywhere():
    text = (Path(__file__).parents[2] / "CITATION.cff").read_text()
    assert f"version: {version('relulab')}\n" in text and f"version = {{{version('relulab')}}}" in software()
