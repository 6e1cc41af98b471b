"""Fixtures: small runs for tests that read runs, and a browser for their reports."""

import json
import shutil
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest


@pytest.fixture(scope="session")
def small_runs(tmp_path_factory) -> Path:
    """A folder with a small run of each of three studies and a theorem's check; copy it before changing it."""
    from relulab import Local, find_study, find_theorem, run_study

    root = tmp_path_factory.mktemp("small-runs")
    for id in ("SS.F5", "SS.F7", "SS.F8"):
        run_study(find_study(id).configured("smoke", {"steps": 10}), preset="smoke", runs=root, engine=Local(1))
    theorem = find_theorem("SS.L1")
    about = {"title": theorem.title, "statement": theorem.statement, "source": theorem.source}
    (root / "checks").mkdir()
    (root / "checks" / "SS.L1.json").write_text(json.dumps(theorem.demonstrate() | about), encoding="utf-8")
    return root


@pytest.fixture(scope="session")
def moving_runs(tmp_path_factory) -> Path:
    """A folder with a small run of a study that has an animation; copy it before changing it."""
    from relulab import Local, find_study, run_study

    root = tmp_path_factory.mktemp("moving-runs")
    run_study(find_study("SS.F3").configured("smoke", {"steps": 10}), preset="smoke", runs=root, engine=Local(1))
    return root


FLAGS = (
    "--headless=new --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync"
)
CUT = """return [...document.querySelectorAll("body *")].filter(e => {
    if (!e.checkVisibility() || e.closest("thead, .skip")) return false;
    const box = e.getBoundingClientRect(), free = !e.parentElement.closest(".scroll, pre");
    const cut = e.scrollWidth > e.clientWidth + 1 && ["hidden", "clip"].includes(getComputedStyle(e).overflowX);
    return cut || (free && (box.right > innerWidth + 1 || box.left < -1));
}).map(e => e.outerHTML.slice(0, 80))"""


@pytest.fixture(scope="module")
def browser():
    from selenium.webdriver import Chrome, ChromeOptions
    from selenium.webdriver.chrome.service import Service

    chromium, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if not (chromium and driver):
        pytest.skip("needs Chromium and its driver (Debian: apt install chromium chromium-driver)")
    options = ChromeOptions()
    options.binary_location = chromium
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    # Not among pytest's folders: a browser on its way out may still write while they are tidied up.
    with TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        for flag in (*FLAGS.split(), f"--user-data-dir={profile}"):
            options.add_argument(flag)
        browser = Chrome(options=options, service=Service(driver))
        yield browser
        browser.quit()


@pytest.fixture
def visit(browser, report):
    """Opens a page of the module's ``report`` by the beginning of its name, at a width and in a color scheme."""

    def visit(
        kind: str = "index", *, width: int = 1200, scheme: str = "light", anchor: str = "", still: bool = False,
        pages: Path = report,
    ):  # fmt: skip
        screen = {"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": width < 500}
        browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", screen)
        wishes = {"prefers-color-scheme": scheme, "prefers-reduced-motion": "reduce" if still else "no-preference"}
        media = {"features": [{"name": name, "value": value} for name, value in wishes.items()]}
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", media)
        browser.get("about:blank")  # or another anchor of the page that is open would not load it anew
        browser.get(next(pages.rglob(f"{kind}*.html")).as_uri() + anchor)
        return browser

    return visit


@pytest.fixture
def cut_off(browser):
    """What the open page cuts off, or shows beyond its edges."""
    return lambda: browser.execute_script(CUT)
