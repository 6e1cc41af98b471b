"""Animations of the report in a real browser: they move for those who want it, and can be stopped."""

import shutil
from pathlib import Path
from urllib.parse import unquote

import pytest
from selenium.webdriver import ActionChains, Chrome, Keys
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import WebDriverWait

from relulab.lab.show.report import build


@pytest.fixture(scope="module")
def report(moving_runs, tmp_path_factory) -> Path:
    return build(moving_runs, tmp_path_factory.mktemp("a report that moves")).parent


MOVING = "const i = document.querySelector('.moving img'); i.scrollIntoView();"


def showing(browser: Chrome) -> str:
    """The file that stands in the animation's place, once it has loaded."""
    loaded = MOVING + "return i.complete && i.naturalWidth > 300 && i.checkVisibility()"
    WebDriverWait(browser, 20).until(lambda b: b.execute_script(loaded))
    return unquote(browser.execute_script(MOVING + "return i.currentSrc")).rpartition("/")[2]


def test_an_animation_moves_unless_the_reader_prefers_that_nothing_does(visit):
    assert showing(visit("plane")) == "lines.gif"
    assert showing(visit("plane", still=True)) == "lines.still.png"


def test_nothing_is_loaded_before_it_comes_near(visit, report, tmp_path):
    far = shutil.copytree(report, tmp_path / "far")
    page = next(far.rglob("plane*.html"))
    place = '<figure class="moving">'
    page.write_text(page.read_text().replace(place, f'<div style="height: 20000px"></div>{place}'))
    browser = visit("plane", pages=far)
    assert browser.execute_script("return document.querySelector('.moving img').currentSrc") == ""
    assert showing(browser) == "lines.gif"


@pytest.mark.parametrize("still", [False, True])
def test_an_animation_can_be_stopped_and_started_by_keys(visit, still):
    browser = visit("plane", still=still)
    files = ["lines.gif", "lines.still.png"]
    words = ["pause", "play"]
    button = browser.find_element(By.CSS_SELECTOR, "button[data-motion]")
    for turn in range(3):
        now = (turn + still) % 2
        WebDriverWait(browser, 10).until(lambda b, now=now: showing(b) == files[now])
        assert button.text == words[now] and button.accessible_name == f"{words[now]} lines"
        browser.execute_script("arguments[0].focus()", button)
        ActionChains(browser).send_keys(Keys.ENTER).perform()


@pytest.mark.parametrize("width", [360, 768, 1200])
def test_an_animation_is_seen_whole(visit, cut_off, width):
    browser = visit("plane", width=width)
    showing(browser)
    box = browser.execute_script(
        MOVING + "const b = i.getBoundingClientRect(); return [b.left, b.right, b.width / b.height]"
    )
    natural = browser.execute_script(MOVING + "return i.naturalWidth / i.naturalHeight")
    assert box[0] >= 0 and box[1] <= width and box[2] == pytest.approx(natural, rel=0.02)
    assert box[1] - box[0] > 0.8 * min(width, 576)
    assert browser.execute_script("return document.scrollingElement.scrollWidth") <= width and cut_off() == []


def test_a_moving_page_does_not_complain_and_names_everything(visit):
    browser = visit("plane")
    showing(browser)
    assert browser.get_log("browser") == []
    tree = browser.execute_cdp_cmd("Accessibility.getFullAXTree", {})["nodes"]
    nodes = [(n["role"]["value"], n.get("name", {}).get("value", "")) for n in tree if not n["ignored"]]
    assert any(role == "image" and "The lines of 6 students move toward" in name for role, name in nodes)
    assert [node for node in nodes if node[0] in ("link", "button", "image") and not node[1].strip()] == []


def test_without_scripts_an_animation_is_shown_and_no_button_is_dead(visit):
    browser = visit("plane")
    browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
    try:
        button = visit("plane").find_element(By.CSS_SELECTOR, "button[data-motion]")
        assert showing(browser) == "lines.gif" and not button.is_displayed()
    finally:
        browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})
