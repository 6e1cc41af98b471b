"""The report: complete pages from files alone, safe against what stands in them."""

import json
import re
import shlex
import shutil
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote

import pytest
from resealed import resealed

from relulab import UserError, find_study
from relulab.lab.run.settings import changes
from relulab.lab.show.report import build
from relulab.lab.show.report.exported_figures import words_in
from relulab.lab.show.report.finished_run import read_check, read_run
from relulab.lab.show.words import VERDICTS
from relulab.lab.theorem import Verdict


class Page(HTMLParser):
    """The elements of a page with their attributes, in order."""

    def __init__(self, path: Path):
        super().__init__()
        self.path, self.text, self.elements = path, path.read_text(encoding="utf-8"), []
        self.feed(self.text)

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))

    def all(self, *tags: str) -> list[dict]:
        return [attrs for tag, attrs in self.elements if tag in tags]

    @property
    def ids(self) -> list[str]:
        return [attrs["id"] for _, attrs in self.elements if "id" in attrs]


@pytest.fixture(scope="module")
def report(small_runs, tmp_path_factory) -> Path:
    return build(small_runs, tmp_path_factory.mktemp("report")).parent


@pytest.fixture(scope="module")
def pages(report) -> list[Page]:
    return [Page(path) for path in sorted(report.rglob("*.html"))]


@pytest.fixture
def built(report, tmp_path) -> Path:
    """A finished report, so that only what a test changes is made again."""
    return shutil.copytree(report, tmp_path / "out")


@pytest.fixture
def copy(small_runs, tmp_path) -> Path:
    return shutil.copytree(small_runs, tmp_path / "runs")


def of(report: Path, study: str) -> Page:
    return Page(next((report / "runs").glob(f"{study}-smoke-*.html")))


def change(path: Path, **fields) -> None:
    path.write_text(json.dumps(json.loads(path.read_text()) | fields))
    if path.name not in ("relulab-run.json", "manifest.json"):
        resealed(path.parent)


def test_every_link_leads_to_a_place_in_the_report(report, pages):
    ids = {page.path.resolve(): page.ids for page in pages}
    assert len(pages) == 4 + 3 + 1
    for page in pages:
        links = [attrs.get("href") or attrs.get("src") for attrs in page.all("a", "img", "script")]
        links = [link for link in links if link]
        assert len(links) >= 2
        for link in map(unquote, links):
            assert "//" not in link and ":" not in link, f"{page.path}: {link} needs a network"
            file, _, anchor = link.partition("#")
            target = (page.path.parent / file if file else page.path).resolve()
            assert target.is_file() and target.is_relative_to(report), f"{page.path}: {link}"
            assert not anchor or anchor in ids[target], f"{page.path}: {link}"


def test_no_id_stands_twice_on_a_page(pages):
    assert all(len(page.ids) == len(set(page.ids)) > 0 for page in pages)


def test_tables_and_images_are_named(pages):
    for page in pages:
        assert all(th.get("scope") in ("col", "row") for th in page.all("th"))
        assert all(t.get("aria-label") or t.get("aria-labelledby") in page.ids for t in page.all("table"))
        scrolling = [attrs for _, attrs in page.elements if "scroll" in attrs.get("class", "").split()]
        assert all(s["tabindex"] == "0" and s["role"] == "region" and s["aria-label"] for s in scrolling)
        # Where rows become blocks on a phone, some browsers forget that it is a table unless every part says so.
        stacks = re.findall(r'<table class="stack".*?</table>', page.text, re.DOTALL)
        assert all(' role="' in part for stack in stacks for part in re.findall(r"<t\w+[^>]*>", stack))
    alts = [image["alt"] for page in pages for image in page.all("img")]
    assert len(set(alts)) == len(alts) == 7 + 3
    assert ", figure loss. Labels in it: epoch; log₁₀ evaluation loss" in str(alts)


def test_a_figures_words_are_its_labels():
    assert words_in("<!-- ρ &gt; 0 --><!-- 10 --><!-- $\\mathdefault{10^{2}}$ --><path/>") == "ρ > 0"
    long = words_in("".join(f"<!-- panel {i} -->" for i in range(99)))
    assert long.startswith("panel 0; panel 1;") and long.endswith("…") and len(long) < 400


def test_the_overview_has_every_claim_and_theorem(small_runs, report):
    claims = [c for path in small_runs.glob("*/*/claims.json") for c in json.loads(path.read_text())]
    assert len(claims) > 10 and {c["id"] for c in claims} < set(Page(report / "claims.html").ids)
    assert "all 5 as expected" in Page(report / "theorems.html").text
    page = Page(report / "index.html")
    assert len(page.all("img")) == 3 and "theorems/SS.L1.html" in page.text


def test_pages_of_runs_explain_their_symbols_and_terms(report):
    page = next(report.glob("runs/recovery-smoke*.html")).read_text(encoding="utf-8")
    terms = page.partition('<details id="terms">')[2].partition("</details>")[0]
    assert all(f"<dt>{term}" in terms for term in ("teacher", "polarity", "recovered", "held-out", "seed"))
    assert "follows it closely: the correlation" in terms and "follower" not in terms


def test_symbols_of_a_claim_are_explained_where_all_claims_are_shown(copy, built, tmp_path):
    path = next(copy.glob("recovery/*/claims.json"))
    claims = json.loads(path.read_text())
    path.write_text(json.dumps([claims[0] | {"says": "The degree κ is large", "statistic": "polarity p"}, *claims[1:]]))
    config = path.with_name("config.json")
    config.write_text(json.dumps(json.loads(config.read_text()) | {"symbols": {"κ": "a degree", "δ": "a size"}}))
    resealed(path.parent)
    build(copy, built)
    row = (
        (built / "claims.html")
        .read_text(encoding="utf-8")
        .partition(f'id="{claims[0]["id"]}"')[2]
        .partition("</tr>")[0]
    )
    assert "</math>: a degree" in row and "How unequal the strengths" in row and "a size" not in row


def test_whole_numbers_of_checks_stay_whole(copy, built):
    path = copy / "checks" / "SS.L1.json"
    document = json.loads(path.read_text())
    row = {"says": "All pairs do", "measured": 4950, "relation": "==", "bound": 0, "error": 0.0, "holds": False}
    document["demonstrations"][0]["conditions"] = [row]
    path.write_text(json.dumps(document))
    assert read_check(path).about.model_dump_json().count('"measured":4950,') == 1
    build(copy, built)
    assert "measured 4,950, must be 0" in (built / "theorems" / "SS.L1.html").read_text(encoding="utf-8")


def test_every_claim_can_be_filtered_by_paper_and_verdict(report):
    page = Page(report / "claims.html")
    assert page.text.count('data-verdict="NOT_JUDGED"') > 10
    papers = {section["data-paper"] for section in page.all("section")}
    assert papers == {"SS", "S0"}
    assert {option["value"] for option in page.all("option")} == {"", *papers, *VERDICTS}


def test_a_runs_page_says_how_it_was_made(report):
    text = of(report, "recovery").text
    for fact in ("seed-steps", "torch 2.", "xarray 20", "Python 3.", "0 … 1, from root 0", "loss.svg", "loss.pdf"):
        assert fact in text
    assert re.search(r"<dt>relulab</dt><dd>\d+\.\d+\.\d+, (commit \w+|installed)", text)


@pytest.mark.parametrize("fields", [
    {"over": [5], "polarity": [0.5, 2.0], "fresh": True},
    {"teacher_bias": "median", "inputs": "uniform", "lr": 1e-5},
    {"root": 3, "over": [1, 2], "seeds": 1},
])  # fmt: skip
def test_the_command_makes_the_same_run(copy, fields):
    study = find_study("recovery").configured("smoke", fields)
    path = next(copy.glob("recovery/*"))
    change(path / "config.json", changes=study.differs("smoke"), config=study.model_dump(mode="json"))
    run = read_run(path)
    relulab, verb, id, option, preset, *rest = shlex.split(run.command)
    assert (relulab, verb, option) == ("relulab", "run", "--preset") and set(rest[::2]) == {"--set"}
    assert find_study(id).configured(preset, changes(find_study(id), None, rest[1::2])) == study
    assert run.seeds == ("0" if study.seeds == 1 else "0 … 1")


def test_a_command_is_quoted_for_the_shell(copy):
    path = next(copy.glob("recovery/*"))
    change(path / "config.json", changes={"a": "two words; rm", "b": "1", "c": None})
    assert shlex.split(read_run(path).command)[5:] == ["--set", "a=two words; rm", "--set", 'b="1"', "--set", "c=null"]


def test_markup_in_files_is_escaped(copy, tmp_path):
    evil = '<script>alert("x")</script>'
    path = next(copy.glob("recovery/*/config.json"))
    change(path, title=evil, remarks=evil, changes={evil: evil}, config={evil: [evil]})
    change(path.parent / "env.json", processor=evil, packages={evil: evil})
    build(copy, tmp_path / "out")
    pages = [Page(tmp_path / "out" / "index.html"), of(tmp_path / "out", "recovery")]
    assert all(evil not in p.text and "&lt;" in p.text and len(p.all("script")) == 2 for p in pages)
    assert "</script>" not in (tmp_path / "out" / "search-index.js").read_text()


WRONG = {
    "config.json": [
        {"study": "../../evil"}, {"study": "a/b"}, {"study": 7}, {"study": ""}, {"preset": ".."}, {"ids": "SS"},
        {"ids": None}, {"config": []}, {"changes": "x"}, {"title": None}, {"about": 1},
        b"[]", b"{half", b"[" * 100_000, b"\xff\xfe", None,
    ],
    "relulab-run.json": [{"schema": 99}, {"schema": "x"}, {"relulab": "no"}, b"[]", b"{half", None],
    "manifest.json": [{"files": {}}, {"files": None}, {"checksum": "0"}, b"[]", b"{half", b"[" * 100_000, None],
    "status.json": [{"seconds": "long"}, {"seconds": -1}, {"state": "running"}, {"units": None}, b"[]", None],
    "env.json": [{"packages": None}, {"commit": 7}, b"5"],
    "figures.json": [
        b'[{"figure": "../../../evil"}]', b'[{"figure": "/evil"}]', b'[{"figure": "missing"}]', b'{"loss": 1}',
        b'["loss"]', b"[1]", b"[" * 100_000,
    ],
    "claims.json": [b'[{"id": "SS.F7.x"}]', b"{}", b"[0]"],
    "result.nc": [b"no netCDF", None],
}  # fmt: skip


@pytest.mark.parametrize("file, content", [(file, content) for file, faults in WRONG.items() for content in faults])
def test_a_damaged_run_is_named_and_hides_nothing_else(copy, built, tmp_path, file, content):
    path = next(copy.glob("recovery/*")) / file
    if content is None:
        path.unlink()
    elif isinstance(content, dict):
        change(path, **content)
    else:
        path.write_bytes(content)
    if file not in ("relulab-run.json", "manifest.json"):
        resealed(path.parent)
    before = {p for p in tmp_path.rglob("*") if tmp_path / "out" not in p.parents}
    build(copy, tmp_path / "out")
    page, missing = (Page(tmp_path / "out" / name) for name in ("claims.html", "runs.html"))
    assert "SS.F5.follow" in page.ids and "SS.F7.width-weak" not in page.ids
    missing = missing.text.partition('class="missing"')[2]
    assert missing.count("<li>") == 1 and f"<li>{path.parent.relative_to(copy)}: " in missing
    assert {p for p in tmp_path.rglob("*") if tmp_path / "out" not in p.parents} - before == set()


@pytest.mark.parametrize("content", ["[]", "{", '{"theorem": "SS.L2"}', None])
def test_a_damaged_check_is_named_and_hides_nothing_else(copy, built, tmp_path, content):
    good = (copy / "checks" / "SS.L1.json").read_text()
    text = content or good.replace('"SS.L1"', '"SS.L9"')  # the file of one theorem with another in it
    (copy / "checks" / "S0.T6.json").write_text(text)
    build(copy, tmp_path / "out")
    page, missing = (Page(tmp_path / "out" / name) for name in ("claims.html", "runs.html"))
    assert "SS.F5.follow" in page.ids and "<li>checks/S0.T6.json: " in missing.text
    assert [p.name for p in (tmp_path / "out" / "theorems").iterdir()] == ["SS.L1.html"]


def test_an_id_that_stands_twice_in_a_run_is_damage(copy, tmp_path):
    path = next(copy.glob("recovery/*/claims.json"))
    path.write_text(json.dumps(json.loads(path.read_text())[:1] * 2))
    resealed(path.parent)
    build(copy, tmp_path / "out")
    assert "an id appears twice" in (tmp_path / "out" / "runs.html").read_text()


def test_studies_may_share_an_id(copy, tmp_path):
    claims = [next(copy.glob(f"{study}/*/claims.json")) for study in ("recovery", "recovery-order")]
    claims[1].write_text(claims[0].read_text())
    resealed(claims[1].parent)
    build(copy, tmp_path / "out")
    page = Page(tmp_path / "out" / "claims.html")
    assert len(page.ids) == len(set(page.ids))
    assert sum(id.endswith("SS.F7.width-weak") for id in page.ids) == 2
    assert "#SS.F7.width-weak" in page.text and "SS.F7.width-weak" in of(tmp_path / "out", "recovery-order").ids


def test_a_paper_that_is_not_on_the_list_is_shown_by_its_tag(copy, tmp_path):
    text = (copy / "checks" / "SS.L1.json").read_text()
    (copy / "checks" / "XY.L1.json").write_text(text.replace('"SS.L1"', '"XY.L1"'))
    page = Page(build(copy, tmp_path / "out"))
    assert "XY" in {section.get("data-paper") for section in page.all("section")} and "theorems/XY.L1.html" in page.text


def test_the_largest_plain_preset_speaks(copy, tmp_path):
    """Of a study's runs: plain before changed, then by size, then the newest."""
    first = next(copy.glob("recovery/*"))
    kinds = [("smoke", {}, "3"), ("quick", {}, "1"), ("quick", {}, "2"), ("paper", {"lr": 1}, "4")]
    for number, (preset, changed, day) in enumerate(kinds):
        path = shutil.copytree(first, first.with_name(f"{preset}-{number}"))
        change(path / "config.json", preset=preset, changes=changed)
        change(path / "status.json", updated=day)
    shutil.rmtree(first)
    build(copy, tmp_path / "out")
    claims, runs = ((tmp_path / "out" / name).read_text() for name in ("claims.html", "runs.html"))
    shown = set(re.findall(r'href="runs/(recovery-(?!order)[^"]*)\.html#', claims))
    assert shown == {"recovery-quick-2"}
    assert all(f'"runs/recovery-{k[0]}-{n}.html"' in runs for n, k in enumerate(kinds))


def test_only_what_changed_is_made_again(copy, tmp_path):
    out = tmp_path / "out"

    def times() -> dict[str, int]:
        return {str(path.relative_to(out)): path.stat().st_mtime_ns for path in out.rglob("*") if path.is_file()}

    build(copy, out)
    before = times()
    build(copy, out)
    tables = {"index.html", "claims.html", "theorems.html", "runs.html", "search-index.js", "pages.json"}
    assert {name for name, time in times().items() if time != before[name]} <= tables
    order = next(copy.glob("recovery-order/*"))
    change(order / "config.json", remarks="A remark that was not there.")
    before = times()
    build(copy, out)
    changed = {name for name, time in times().items() if time != before[name]} - tables
    assert changed and all("recovery-order" in name for name in changed)
    assert "A remark that was not there." in of(out, "recovery-order").text
    page = next((out / "runs").glob("recovery-order-*.html"))
    for lost in (page, next((out / "data").glob("recovery-order-*/*.csv"))):
        lost.unlink()
        build(copy, out)
        assert lost.is_file()
    (out / "pages.json").write_text("[1")
    build(copy, out)
    assert json.loads((out / "pages.json").read_text())


def test_items_are_in_the_order_of_print(copy, tmp_path):
    text = build(copy, tmp_path / "out").read_text()
    places = [text.index(f"runs/{study}-smoke") for study in ("fan-out-correlation", "recovery", "recovery-order")]
    assert places == sorted(places)


def test_no_runs_is_said_and_so_is_why(copy, tmp_path):
    with pytest.raises(UserError, match="run a study first"):
        build(tmp_path / "nowhere", tmp_path / "out")
    shutil.rmtree(copy / "checks")
    for path in copy.glob("*/*/status.json"):
        path.unlink()
    with pytest.raises(UserError, match=r"status\.json is missing"):
        build(copy, tmp_path / "out")
    assert not (tmp_path / "out" / "index.html").exists()


def test_every_verdict_has_a_word():
    assert set(VERDICTS) == {v.name for v in Verdict}


def luminance(color: str) -> float:
    parts = (int(color[i : i + 2], 16) / 255 for i in (1, 3, 5))
    red, green, blue = (x / 12.92 if x <= 0.04045 else ((x + 0.055) / 1.055) ** 2.4 for x in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(a: str, b: str) -> float:
    dark, light = sorted(map(luminance, (a, b)))
    return (light + 0.05) / (dark + 0.05)


def test_contrast_is_reckoned_right():
    assert contrast("#000000", "#ffffff") == pytest.approx(21) and contrast("#777777", "#ffffff") < 4.5


def test_every_color_of_text_can_be_read_in_both_schemes(report):
    css = Page(report / "index.html").text.partition("</style>")[0]
    light, dark = (dict(re.findall(r"--(\w+): (#\w{6})", part)) for part in css.split("prefers-color-scheme: dark"))
    assert light.keys() == dark.keys() >= {"ink", "soft", "link", *(name.lower() for name in VERDICTS)}
    for scheme in (light, dark):
        grounds = [scheme.pop(name) for name in ("paper", "band")]
        scheme.pop("line")
        assert min(contrast(color, ground) for color in scheme.values() for ground in grounds) >= 4.5
