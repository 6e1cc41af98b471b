"""The report: complete pages from files alone, safe against what stands in them."""

import json
import shutil
from html.parser import HTMLParser
from pathlib import Path

import pytest

from relulab import UserError, find_study, run_study
from relulab.lab.report import build
from relulab.lab.theorem import Verdict
from relulab.lab.words import VERDICTS


@pytest.fixture(scope="module")
def runs(tmp_path_factory) -> Path:
    root = tmp_path_factory.mktemp("runs")
    for id in ("SS.F5", "SS.F7", "SS.F8"):
        run_study(find_study(id).configured("smoke", {"steps": 10}), preset="smoke", runs=root)
    (root / "checks").mkdir()
    from relulab import find_theorem

    theorem = find_theorem("SS.L1")
    about = {"title": theorem.title, "statement": theorem.statement, "source": theorem.source}
    (root / "checks" / "SS.L1.json").write_text(json.dumps(theorem.demonstrate() | about))
    return root


class Links(HTMLParser):
    def __init__(self, text: str):
        super().__init__()
        self.found: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.found += [value for name, value in attrs if name in ("href", "src")]


def test_every_link_leads_to_a_file_of_the_report(runs, tmp_path):
    build(runs, tmp_path)
    pages = list(tmp_path.rglob("*.html"))
    assert len(pages) == 1 + 3 + 1
    for page in pages:
        for link in Links(page.read_text()).found:
            assert "//" not in link, f"{page}: {link} needs a network"
            target = link.partition("#")[0]
            assert not target or (page.parent / target).exists(), f"{page}: {link}"


def test_the_overview_has_every_claim_and_theorem(runs, tmp_path):
    text = build(runs, tmp_path).read_text()
    claims = [c for path in runs.glob("*/*/claims.json") for c in json.loads(path.read_text())]
    assert len(claims) == 16 and all(f'id="{c["id"]}"' in text for c in claims)
    assert "SS.L1" in text and "all 4 as expected" in text


def test_every_claim_can_be_filtered_by_paper_and_verdict(runs, tmp_path):
    text = build(runs, tmp_path).read_text()
    assert text.count('data-verdict="INCONCLUSIVE"') == 16
    assert 'data-paper="SS"' in text and 'data-paper="S0"' in text and "<option>S0</option>" in text
    assert all(f'<option value="{name}">' in text for name in VERDICTS)


def test_a_runs_page_says_how_it_was_made(runs, tmp_path):
    build(runs, tmp_path)
    page = next((tmp_path / "runs").glob("recovery-smoke-*.html")).read_text()
    assert "relulab run recovery --preset smoke --set steps=10" in page
    assert "seed-steps" in page and "torch 2.13" in page and "loss.svg" in page


def test_markup_in_files_is_escaped(runs, tmp_path):
    copy = tmp_path / "runs"
    shutil.copytree(runs, copy)
    path = next(copy.glob("recovery/*/config.json"))
    about = json.loads(path.read_text())
    about["config"]["inputs"] = "<script>alert(1)</script>"
    path.write_text(json.dumps(about))
    build(copy, tmp_path / "out")
    page = next((tmp_path / "out" / "runs").glob("recovery-smoke-*.html")).read_text()
    assert "<script>" not in page and "&lt;script&gt;" in page


def test_the_largest_plain_preset_speaks(runs, tmp_path):
    from relulab.lab.report.build import _one_a_study

    def run(preset, changes, day):
        return {"study": "s", "preset": preset, "changes": changes, "status": {"updated": day}}

    rows = [run("smoke", {}, "3"), run("quick", {}, "1"), run("quick", {}, "2"), run("paper", {"lr": 1}, "4")]
    assert _one_a_study(rows) == [rows[2]]


def test_one_damaged_file_does_not_hide_the_others(runs, tmp_path):
    copy = tmp_path / "runs"
    shutil.copytree(runs, copy)
    next(copy.glob("recovery/*/claims.json")).write_text("{half")
    (copy / "checks" / "S0.T6.json").write_text("[]")
    text = build(copy, tmp_path / "out").read_text()
    assert "SS.F5.follow" in text and "SS.F7.width-weak" not in text and "S0.T6.json" in text


def test_no_runs_is_said(tmp_path):
    with pytest.raises(UserError, match="run one first"):
        build(tmp_path, tmp_path / "out")


def test_every_verdict_has_a_word():
    assert set(VERDICTS) == {v.name for v in Verdict}
