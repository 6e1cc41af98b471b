"""The report in a real browser, opened from the file system: what a reader with eyes, a keyboard or a phone meets."""

import json
import re
import shutil
from itertools import pairwise
from pathlib import Path
from urllib.parse import unquote, urlparse

import pytest
from resealed import resealed
from selenium.webdriver import ActionChains, Chrome, Keys
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import Select, WebDriverWait

from relulab.lab.show.figure import drawn, panels
from relulab.lab.show.report import build
from relulab.lab.show.words import VERDICTS

KINDS = ("index", "claims", "theorems", "runs", "fan-out-correlation", "recovery-order", "recovery-smoke", "SS.L1")
WIDE = 1200


@pytest.fixture(scope="module")
def runs(small_runs, tmp_path_factory) -> Path:
    """Runs with every verdict, a paper with theorems alone, and something damaged."""
    root = shutil.copytree(small_runs, tmp_path_factory.mktemp("shown") / "runs")
    for path in root.glob("*/*/claims.json"):
        claims = json.loads(path.read_text())
        for number, claim in enumerate(claims):
            claim["verdict"] = ("HOLDS", "REFUTED", "INCONCLUSIVE", "NOT_JUDGED")[number % 4]
        path.write_text(json.dumps(claims))
    for path in root.glob("recovery/*/figures/recovery.svg"):
        path.write_bytes(drawn(panels(1, 6)[0], "svg"))  # as wide as on larger presets
    for path in root.glob("*/*/claims.json"):
        resealed(path.parent)
    theorem = (root / "checks" / "SS.L1.json").read_text()
    (root / "checks" / "LM.L1.json").write_text(theorem.replace('"SS.L1"', '"LM.L1"'))
    (root / "checks" / "S0.T6.json").write_text("{half")
    return root


@pytest.fixture(scope="module")
def report(runs, tmp_path_factory) -> Path:
    return build(runs, tmp_path_factory.mktemp("a report with spaces & signs")).parent


def js(browser: Chrome, code: str, *arguments):
    return browser.execute_script(code, *arguments)


def claims_of(runs: Path) -> list[tuple[str, str]]:
    found = [c for path in runs.glob("*/*/claims.json") for c in json.loads(path.read_text())]
    return [(c["id"], c["verdict"]) for c in found]


def shown(browser: Chrome) -> set[str]:
    """The ids of the claims that take up room on the page."""
    rows = "[...document.querySelectorAll('tr[data-verdict]')].filter(r => r.checkVisibility()).map(r => r.id)"
    return set(js(browser, f"return {rows}"))


def choose(browser: Chrome, paper: str = "", verdict: str = "") -> None:
    for id, value in (("paper", paper), ("verdict", verdict)):
        Select(browser.find_element(By.ID, id)).select_by_value(value)


def said(browser: Chrome) -> str:
    return browser.find_element(By.ID, "shown").text


def test_every_figure_shows(visit, report):
    count = 0
    for kind in KINDS:
        images = js(visit(kind), "return [...document.images].map(i => [i.complete, i.naturalWidth, i.width])")
        assert all(complete and natural > 0 and width > 100 for complete, natural, width in images)
        count += len(images)
    studies = len(list(report.glob("figures/*")))
    assert count == len(list(report.glob("figures/*/*.svg"))) + studies == 7 + 3  # each study has a card too


def test_no_page_complains(visit):
    browser = visit()
    browser.get_log("browser")
    js(browser, "console.error('heard')")
    assert "heard" in str(browser.get_log("browser"))  # so silence says something
    for kind in KINDS:
        visit(kind)
        assert browser.get_log("browser") == []


@pytest.mark.parametrize("verdict", ["", *VERDICTS])
@pytest.mark.parametrize("paper", ["", "SS", "S0"])
def test_the_filter_shows_what_was_asked_for(visit, runs, paper, verdict):
    browser = visit("claims")
    everything = shown(browser)
    assert everything == {id for id, _ in claims_of(runs)} and said(browser) == f"{len(everything)} claims"
    choose(browser, paper, verdict)
    wanted = {id for id, v in claims_of(runs) if id.startswith(paper) and v.startswith(verdict)}
    assert shown(browser) == wanted
    assert said(browser) == (f"{len(wanted)} claim{'s' * (len(wanted) > 1)}" if wanted else "no claim matches")
    rows = "return [...document.querySelectorAll('table')].filter(t => t.checkVisibility()).map(t => t.innerText)"
    assert all(text.count("\n") for text in js(browser, rows))  # no heading without rows
    headings = js(browser, "return [...document.querySelectorAll('section')].map(s => [s.dataset.paper, s.hidden])")
    assert {tag for tag, hidden in headings if not hidden} == {id.partition(".")[0] for id in wanted}
    choose(browser)
    assert shown(browser) == everything and said(browser) == f"{len(everything)} claims"


def test_the_filter_is_there_again_on_coming_back(visit):
    browser = visit("claims")
    everything = len(shown(browser))
    choose(browser, "SS", "REFUTED")
    before = shown(browser)
    browser.find_element(By.CSS_SELECTOR, "tr[data-verdict]:not([hidden]) a").click()
    assert browser.find_element(By.TAG_NAME, "h1").text != "All claims"
    browser.back()
    assert shown(browser) == before and len(before) < everything and said(browser) == f"{len(before)} claims"
    assert Select(browser.find_element(By.ID, "paper")).first_selected_option.text == "SS"


def test_the_filter_can_be_sent_as_an_address(visit, runs):
    assert shown(visit("claims", anchor="#verdict=HOLDS")) == {
        id for id, verdict in claims_of(runs) if verdict == "HOLDS"
    }
    browser = visit("claims", anchor="#paper=nonsense&verdict=%3Cb%3E")
    chosen = [Select(browser.find_element(By.ID, id)).first_selected_option.text for id in ("paper", "verdict")]
    assert len(shown(browser)) == len(claims_of(runs)) and chosen == ["all", "all"]


def test_places_on_the_page_do_not_undo_the_filter_but_are_never_hidden(visit, runs):
    browser = visit("claims")
    choose(browser, "S0")
    kept = shown(browser)
    js(browser, "location.hash = 'main'")
    WebDriverWait(browser, 10).until(lambda b: "paper=S0" in b.current_url)
    assert shown(browser) == kept
    hidden = next(id for id, _ in claims_of(runs) if id.startswith("SS"))
    js(browser, "location.hash = arguments[0]", hidden)
    WebDriverWait(browser, 10).until(lambda b: hidden in shown(b))
    assert len(shown(browser)) == len(claims_of(runs))


STOPS = """window.stops = [...document.querySelectorAll("a[href], select, input, summary, button, [tabindex='0']")]
    .filter(e => e.checkVisibility()); return stops.length"""
FOCUS = """const e = document.activeElement, s = getComputedStyle(e), box = e.getBoundingClientRect();
    return [stops.indexOf(e), s.outlineStyle !== "none" && parseFloat(s.outlineWidth) >= 2,
            box.bottom > 0 && box.top < innerHeight && box.right > 0 && box.left < innerWidth]"""


@pytest.mark.parametrize("width", [WIDE, 390])
@pytest.mark.parametrize("kind", KINDS)
def test_the_keyboard_reaches_everything_in_order_and_one_sees_where_it_is(visit, kind, width):
    browser = visit(kind, width=width)
    count = js(browser, STOPS)
    assert count > 4
    reached = []
    for _ in range(count):
        ActionChains(browser).send_keys(Keys.TAB).perform()
        reached.append(js(browser, FOCUS))
    assert reached == [[i, True, True] for i in range(count)]
    scrollers = """return [...document.querySelectorAll("body *")].filter(e => e.checkVisibility()
        && e.scrollWidth > e.clientWidth && getComputedStyle(e).overflowX === "auto").map(e => stops.includes(e))"""
    assert all(js(browser, scrollers))


def test_the_skip_link_comes_first_and_skips(visit):
    browser = visit("recovery-smoke")
    ActionChains(browser).send_keys(Keys.TAB).perform()
    box = js(browser, "const b = document.activeElement.getBoundingClientRect(); return [b.top >= 0, b.left >= 0]")
    assert browser.switch_to.active_element.text == "Skip to the content" and box == [True, True]
    ActionChains(browser).send_keys(Keys.ENTER, Keys.TAB).perform()
    inside = "return document.querySelector('main').contains(document.activeElement)"
    assert js(browser, inside) is True


def test_the_filter_works_by_keys(visit, runs):
    browser = visit("claims")
    ActionChains(browser).send_keys(Keys.TAB * 9).perform()  # past the skip link, the navigation, search and the paper
    assert browser.switch_to.active_element.get_attribute("id") == "verdict"
    ActionChains(browser).send_keys(Keys.ARROW_DOWN).perform()
    first = next(iter(VERDICTS))
    assert shown(browser) == {id for id, verdict in claims_of(runs) if verdict == first}


def test_a_wide_figure_scrolls_by_keys_on_a_phone(visit):
    browser = visit("fan-out-correlation", width=360)
    region = browser.find_element(By.CSS_SELECTOR, "figure .scroll")
    js(browser, "arguments[0].querySelector('img').style.minWidth = '44rem'; arguments[0].focus()", region)
    ActionChains(browser).send_keys(Keys.ARROW_RIGHT).perform()
    WebDriverWait(browser, 10).until(lambda b: js(b, "return arguments[0].scrollLeft", region) > 0)


SIZES = """return [...document.querySelectorAll("figure")].map(f => {
    const box = f.querySelector(".scroll"), image = f.querySelector("img"), hint = f.querySelector(".hint");
    return [image.getBoundingClientRect().width / parseFloat(getComputedStyle(image).getPropertyValue("--drawn")),
            box.scrollWidth > box.clientWidth + 1, hint.checkVisibility()];
})"""


@pytest.mark.parametrize("width", [360, 390, 768, WIDE])
def test_figures_stay_large_enough_to_read_and_say_where_they_scroll(visit, width):
    scrolls = []
    for kind in ("recovery-smoke", "recovery-order", "fan-out-correlation"):
        for scale, scrolling, hinted in js(visit(kind, width=width), SIZES):
            assert 0.749 < scale <= 1.001  # of the size in which text has 9 points
            assert hinted == scrolling
            scrolls.append(scrolling)
    assert any(scrolls) == (width < WIDE) and not all(scrolls)
    # A wide figure scrolls in its own box, to its very end.
    browser = visit("recovery-smoke", width=width)
    end = "const b = document.querySelector('figure .scroll'), i = b.querySelector('img'); b.scrollLeft = 1e6;"
    place = "return [i.getBoundingClientRect().right, b.getBoundingClientRect().right, scrollX]"
    image, box, page = js(browser, end + place)
    assert image <= box + 1 and page == 0


def test_a_figure_that_would_shrink_too_much_is_noticed(visit):
    browser = visit("recovery-smoke", width=390)
    js(browser, "document.querySelector('figure img').style.minWidth = 0")
    assert js(browser, SIZES)[0][0] < 0.5


@pytest.mark.parametrize("width", [360, 390, 768])
@pytest.mark.parametrize("kind", KINDS)
def test_a_narrow_page_does_not_scroll_sideways_and_cuts_nothing(visit, cut_off, kind, width):
    browser = visit(kind, width=width)
    page, window = js(browser, "return [document.scrollingElement.scrollWidth, innerWidth]")
    assert page <= window == width
    assert cut_off() == []


def test_a_long_word_does_not_widen_a_phones_page(visit):
    browser = visit("recovery-smoke", width=360)
    long = "document.querySelector(arguments[0]).textContent = 'W'.repeat(300)"
    for place in ("h1", "main p", "dd", "pre", ".stack td", "figcaption"):
        js(browser, long, place)
    assert js(browser, "return document.scrollingElement.scrollWidth") <= 360


CONTRASTS = """
const rgb = text => text.match(/[\\d.]+/g).map(Number);
const light = c => c.slice(0, 3).map(x => x / 255).map(x => x <= 0.04045 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4)
    .reduce((sum, x, i) => sum + x * [0.2126, 0.7152, 0.0722][i], 0);
function ground(e) {
    for (; e; e = e.parentElement) { const c = rgb(getComputedStyle(e).backgroundColor); if (c[3] !== 0) return c; }
    return [255, 255, 255];
}
return [...document.querySelectorAll("body *")]
    .filter(e => e.checkVisibility() && [...e.childNodes].some(n => n.nodeType === 3 && n.textContent.trim()))
    .map(e => [rgb(getComputedStyle(e).color), ground(e)].map(light).sort((a, b) => a - b))
    .map(([dark, bright]) => (bright + 0.05) / (dark + 0.05))"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("kind", KINDS)
def test_all_text_can_be_read_in_both_schemes(visit, kind, scheme):
    browser = visit(kind, scheme=scheme)
    found = js(browser, CONTRASTS)
    assert len(found) > 20 and min(found) >= 4.5
    ground = js(browser, "return getComputedStyle(document.body).backgroundColor.match(/\\d+/g).map(Number)")
    assert (sum(ground[:3]) < 150) == (scheme == "dark")
    papers = js(browser, "return [...document.images].map(i => getComputedStyle(i).backgroundColor)")
    assert set(papers) <= {"rgb(255, 255, 255)"}


@pytest.mark.parametrize("kind", KINDS)
def test_headings_and_landmarks_are_in_order(visit, kind):
    browser = visit(kind)
    levels = js(browser, "return [...document.querySelectorAll('h1,h2,h3,h4,h5,h6')].map(h => +h.tagName[1])")
    assert levels[0] == 1 and levels.count(1) == 1 and len(levels) > 1
    assert all(after <= before + 1 for before, after in pairwise(levels))
    count = "return ['main', 'body > header', 'nav:not([aria-label])'].map(s => document.querySelectorAll(s).length)"
    assert js(browser, count) == [1, 1, 0] and js(browser, "return document.documentElement.lang") == "en"
    assert "relulab" in browser.title and len(browser.title) > len("relulab: ")


@pytest.mark.parametrize("width", [WIDE, 390])
@pytest.mark.parametrize("kind", KINDS)
def test_a_screen_reader_is_told_of_tables_and_names(visit, kind, width):
    browser = visit(kind, width=width)
    tree = browser.execute_cdp_cmd("Accessibility.getFullAXTree", {})["nodes"]
    nodes = [(n["role"]["value"], n.get("name", {}).get("value", "")) for n in tree if not n["ignored"]]
    roles = [role for role, _ in nodes]
    assert roles.count("table") == len(browser.find_elements(By.TAG_NAME, "table"))
    assert roles.count("row") == len(browser.find_elements(By.TAG_NAME, "tr"))
    assert roles.count("columnheader") == len(browser.find_elements(By.CSS_SELECTOR, "thead th"))
    named = {"link", "button", "combobox", "table", "region", "image", "navigation", "form"}
    assert [node for node in nodes if node[0] in named and not node[1].strip()] == []
    regions = [name for role, name in nodes if role == "region"]
    assert len(regions) == len(set(regions)) > 0


def test_every_link_to_a_page_opens_it_where_it_should(visit, report):
    browser = visit()
    wanted, seen = [browser.current_url], set()
    while wanted:
        url = wanted.pop()
        seen.add(url)
        browser.get("about:blank")
        browser.get(url)
        assert browser.find_element(By.TAG_NAME, "h1").text, url
        if "#" in url:
            top = "return document.querySelector(':target').getBoundingClientRect().top"
            assert 0 <= js(browser, top) < 800, url
        links = js(browser, "return [...document.links].map(a => a.href)")
        pages = {link for link in links if urlparse(link).path.endswith(".html")}
        wanted += pages - seen - set(wanted)
    opened = {Path(unquote(urlparse(url).path)) for url in seen}
    assert opened == set(report.rglob("*.html")) and len([url for url in seen if "#" in url]) > 12


@pytest.mark.parametrize("kind", ["fan-out-correlation", "recovery-order", "recovery-smoke"])
def test_figures_and_data_can_be_had(visit, kind):
    links = js(visit(kind), "return [...document.querySelectorAll('main a')].map(a => a.href)")
    files = [Path(unquote(urlparse(link).path)) for link in links if not link.partition("#")[2]]
    files = [path for path in files if path.suffix != ".html"]
    assert {path.suffix for path in files} == {".svg", ".png", ".pdf", ".nc", ".csv"}
    assert all(path.stat().st_size > 0 for path in files)


def test_a_table_is_downloaded_as_it_is(visit, tmp_path):
    browser = visit("recovery-smoke")
    browser.execute_cdp_cmd("Browser.setDownloadBehavior", {"behavior": "allow", "downloadPath": str(tmp_path)})
    link = browser.find_element(By.LINK_TEXT, "loss.csv")
    source = Path(unquote(urlparse(link.get_property("href")).path))
    link.click()
    WebDriverWait(browser, 20).until(lambda _: (tmp_path / "loss.csv").exists())
    assert (tmp_path / "loss.csv").read_bytes() == source.read_bytes()


@pytest.mark.parametrize("kind, command", [
    ("recovery-smoke", "relulab run recovery --preset smoke --set steps=10"), ("SS.L1", "relulab check SS.L1"),
])  # fmt: skip
def test_the_command_is_copied_by_keys(visit, kind, command):
    browser = visit(kind)
    button = browser.find_element(By.TAG_NAME, "button")
    js(browser, "arguments[0].focus()", button)
    ActionChains(browser).send_keys(Keys.ENTER).perform()
    WebDriverWait(browser, 10).until(lambda b: b.find_element(By.CSS_SELECTOR, "[role=status]").text)
    assert browser.find_element(By.CSS_SELECTOR, "[role=status]").text == "copied"
    js(browser, "document.body.append(document.createElement('textarea')); document.querySelector('textarea').focus()")
    ActionChains(browser).key_down(Keys.CONTROL).send_keys("v").key_up(Keys.CONTROL).perform()
    assert browser.find_element(By.TAG_NAME, "textarea").get_property("value") == command


def test_where_copying_is_not_allowed_the_command_is_selected(visit):
    browser = visit("recovery-smoke")
    js(browser, "Object.defineProperty(navigator, 'clipboard', {value: undefined})")
    browser.find_element(By.TAG_NAME, "button").click()
    assert js(browser, "return getSelection().toString()").startswith("relulab run recovery")
    assert browser.find_element(By.CSS_SELECTOR, "[role=status]").text == "selected"


def test_without_scripts_everything_is_shown_and_nothing_is_dead(visit):
    browser = visit()
    browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
    try:
        assert len(shown(visit("claims"))) > 10 and not browser.find_element(By.ID, "filter").is_displayed()
        assert not visit("recovery-smoke").find_element(By.TAG_NAME, "button").is_displayed()
    finally:
        browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})


def test_what_is_not_shown_is_named(visit):
    assert "1 stored run cannot be shown" in visit().find_element(By.TAG_NAME, "main").text
    text = visit("runs").find_element(By.TAG_NAME, "main").text
    assert "Not shown" in text and "S0.T6.json: " in text


def test_formulas_are_set_without_a_network(visit):
    """MathML elements, none of them empty, and no formula left as plain text."""
    count = 0
    for kind in KINDS:
        sizes = js(visit(kind), "return [...document.querySelectorAll('math')].map(m => [m.textContent.trim().length, "
                   "m.checkVisibility() ? m.getBoundingClientRect().width : 1])")  # fmt: skip
        assert all(letters > 0 and width > 0 for letters, width in sizes)
        count += len(sizes)
        text = js(
            visit(kind),
            """const page = document.querySelector("main").cloneNode(true);
            page.querySelectorAll("math, pre, code").forEach(e => e.remove()); return page.textContent""",
        )
        assert not re.findall(r"‖|[A-Za-zα-ω]\*?_[a-z{]\b|\^[({]|ᵀ", text), kind
    assert count > 40


def test_the_search_finds_studies_claims_and_theorems(visit):
    for kind, root in (("index", ""), ("SS.L1", "../")):
        browser = visit(kind)
        field = browser.find_element(By.ID, "query")
        field.send_keys("gradient rule")
        hits = js(browser, "return [...document.querySelectorAll('#hits a')].map(a => a.getAttribute('href'))")
        assert f"{root}theorems/SS.L1.html" in hits
        field.clear()
        field.send_keys("xyzzy")
        assert browser.find_element(By.ID, "hits").text == "nothing found"
    field.clear()
    field.send_keys("recovery order", Keys.ENTER)
    WebDriverWait(browser, 10).until(lambda b: "recovery-order" in b.current_url)


def test_previous_and_next_lead_through_all_studies_and_back(visit, report):
    browser, titles = visit("recovery-smoke"), []
    while links := browser.find_elements(By.CSS_SELECTOR, "[rel=prev]"):
        links[0].click()
    while True:
        titles.append(browser.find_element(By.TAG_NAME, "h1").text)
        links = browser.find_elements(By.CSS_SELECTOR, "[rel=next]")
        if not links:
            break
        links[0].click()
    assert len(titles) == len(set(titles)) == len(list(report.glob("runs/*.html")))


def test_the_first_page_has_a_picture_for_each_study_and_is_short(visit, report):
    browser = visit("index", width=1280)
    cards = browser.find_elements(By.CSS_SELECTOR, ".card")
    assert len(cards) == 3 == len(browser.find_elements(By.CSS_SELECTOR, ".card img"))
    assert all(card.find_element(By.CSS_SELECTOR, ".badge").text for card in cards)
    assert js(browser, "return document.documentElement.scrollHeight") < 3 * 800
