"""The folder of a report: foreign files stay, links are not followed, and what is no longer shown is removed."""

import os
import re
import shutil
from html import unescape
from pathlib import Path

import pytest
from resealed import resealed

from relulab.core.errors import UserError
from relulab.lab.show.report import build
from relulab.lab.show.report.finished_run import read_run
from relulab.lab.show.report.forms import Unreadable
from relulab.lab.show.report.thumbnail import SIZE, thumbnail
from relulab.lab.show.typeset import typeset
from relulab.lab.show.words import number


@pytest.fixture
def runs(small_runs, tmp_path) -> Path:
    return shutil.copytree(small_runs, tmp_path / "runs")


@pytest.fixture
def out(runs, tmp_path) -> Path:
    return build(runs, tmp_path / "out").parent


def test_a_folder_that_is_no_report_is_left_as_it_is(runs, tmp_path):
    site = tmp_path / "site"
    site.mkdir()
    (site / "index.html").write_text("my own page")
    for place in (site, tmp_path, runs):
        before = sorted(place.rglob("*"))
        with pytest.raises(UserError, match="not a report of this version"):
            build(runs, place)
        assert sorted(place.rglob("*")) == before and (site / "index.html").read_text() == "my own page"
    with pytest.raises(UserError, match="is a file"):
        build(runs, site / "index.html")


@pytest.mark.parametrize("name", ["figures", "data", "runs", "theorems", "cards"])
def test_links_in_a_report_are_not_followed(runs, out, tmp_path, name):
    (tmp_path / "outside").mkdir()
    shutil.rmtree(out / name)
    (out / name).symlink_to(tmp_path / "outside")
    with pytest.raises(UserError, match="is a link"):
        build(runs, out)
    assert not list((tmp_path / "outside").iterdir())


def test_what_is_no_longer_shown_is_removed(runs, out):
    mine = out / "runs" / "notes.html"
    mine.write_text("my own page")
    lost = next((runs / "recovery").iterdir())
    there = [path for path in out.rglob("*") if lost.name in str(path)]
    assert len(there) > 8
    shutil.rmtree(lost)
    build(runs, out)
    assert not [path for path in out.rglob("*") if lost.name in str(path)]
    assert mine.exists() and list((out / "runs").glob("recovery-order-*.html"))


def test_half_written_files_are_cleared(runs, out):
    folders = [out, out / "runs", next((out / "figures").iterdir()), runs / "checks"]
    for folder in folders:
        (folder / ".relulab-99999999-abc.tmp").write_text("half")
        (folder / f".relulab-{os.getpid()}-abc.tmp").write_text("of a process at work")
    shutil.rmtree(next((runs / "recovery").iterdir()))  # so that there is something to do
    build(runs, out)
    for folder in folders:
        assert [path.name for path in folder.glob(".relulab-*")] == [f".relulab-{os.getpid()}-abc.tmp"], folder
    assert ".relulab-" not in (out / "pages.json").read_text()


@pytest.mark.parametrize("content", ["[" * 100_000, "[1", '{"a": 3}', None])
def test_a_damaged_list_of_pages_is_made_again(runs, out, content):
    (out / "pages.json").unlink()
    os.mkfifo(out / "pages.json") if content is None else (out / "pages.json").write_text(content)
    build(runs, out)
    assert (out / "pages.json").is_file() and '"files"' in (out / "pages.json").read_text()


def test_a_report_shows_no_absolute_paths(runs, tmp_path):
    (next((runs / "recovery").iterdir()) / "claims.json").unlink()
    config = next((runs / "recovery-order").iterdir()) / "config.json"
    config.write_text(config.read_text().replace('"study"', f'"file": "{tmp_path}/mine.py", "study"', 1))
    resealed(config.parent)
    out = build(runs, tmp_path / "out").parent
    texts = [path.read_text() for path in out.rglob("*") if path.suffix in (".html", ".js", ".json")]
    assert not [text for text in texts if str(tmp_path) in text] and any(
        "relulab run mine.py" in text for text in texts
    )


@pytest.mark.parametrize(
    ("file", "shown"), [("mine/a.py", "mine/a.py"), ("/home/me/a.py", "a.py"), ("../me/a.py", "a.py"), ("a.py", "a.py")]
)
def test_the_file_of_a_study_is_shown_as_far_as_it_says_nothing_of_its_user(runs, file, shown):
    config = next((runs / "recovery-order").iterdir()) / "config.json"
    config.write_text(config.read_text().replace('"study"', f'"file": "{file}", "study"', 1))
    resealed(config.parent)
    assert f"relulab run {shown} --preset" in read_run(config.parent).command


def test_one_strange_run_does_not_end_the_report(runs, tmp_path):
    run, other = (next((runs / name).iterdir()) for name in ("recovery", "recovery-order"))
    strange = {
        "loss.svg": b'<svg xmlns="http://www.w3.org/2000/svg" width="1.1.1pt"/>',
        "loss.png": b"\x89PNG\r\n\x1a\n",
    }
    for name, content in strange.items():
        (run / "figures" / name).write_bytes(content)
    resealed(run)
    bytes_ = os.fsencode(runs) + b"/\xff\xfe/run"
    os.makedirs(bytes_)
    Path(os.fsdecode(bytes_), "x.json").write_text("{}")
    twin = runs / "recovery-order".replace("-order", "")
    shutil.copytree(other, twin / f"order-{other.name}")
    page = build(runs, tmp_path / "out").with_name("runs.html").read_text()
    assert other.name in page and f"<li>{twin.name}/order-{other.name}" in page and "�" in page


def test_two_runs_with_one_page_name_are_not_mixed_up(runs, tmp_path):
    other = next((runs / "recovery-order").iterdir())
    twin = shutil.copytree(other, runs / "recovery" / f"order-{other.name}")
    resealed(twin)
    page = build(runs, tmp_path / "out").with_name("runs.html").read_text()
    assert "its page would have the same name" in page


@pytest.mark.parametrize("size", [(1, 3000), (5000, 1), (2, 2000), (700, 400)])
def test_a_thumbnail_of_any_shape_is_small(tmp_path, size):
    from PIL import Image

    Image.new("RGB", size).save(tmp_path / "a.png")
    thumbnail(tmp_path / "a.png", tmp_path / "card.png")
    with Image.open(tmp_path / "card.png") as card:
        assert card.size == SIZE


def test_a_picture_with_too_many_pixels_is_not_shown(tmp_path):
    from PIL import Image

    Image.new("1", (9000, 9000)).save(tmp_path / "a.png")
    with pytest.raises(Unreadable, match="9000 × 9000 pixels"):
        thumbnail(tmp_path / "a.png", tmp_path / "card.png")


def test_a_picture_with_a_text_that_inflates_is_not_shown(tmp_path):
    from PIL import Image, PngImagePlugin

    notes = PngImagePlugin.PngInfo()
    notes.add_text("comment", "a" * 20_000_000, zip=True)
    Image.new("1", (90, 90)).save(tmp_path / "a.png", pnginfo=notes)
    assert (tmp_path / "a.png").stat().st_size < 100_000
    with pytest.raises(Unreadable, match="not a PNG picture"):
        thumbnail(tmp_path / "a.png", tmp_path / "card.png")


@pytest.mark.parametrize(
    "text",
    ["see a." + "1" * 5000, "a." + "1." * 3000, "a/" * 5000, "1e" + "9" * 5000, "x_1 + " + "(" * 2000, "√" * 5000],
)
def test_strange_texts_are_shown_as_they_are(text):
    shown = unescape(re.sub("<[^>]*>", "", typeset(text)))
    assert shown == text.replace("x_1", "x1")  # a subscript


def test_numbers_larger_than_any_float_are_shown():
    assert (number(10**400), number(-(10**400)), number(10**6)) == ("∞", "−∞", "1,000,000")
