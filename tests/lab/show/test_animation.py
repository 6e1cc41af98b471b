"""Animations: the same bytes for the same drawing, kept with the run, copied into the report and described there."""

import json
import shutil
from dataclasses import replace
from html.parser import HTMLParser
from io import BytesIO
from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure
from PIL import Image
from resealed import resealed

from relulab import Local, UserError, find_study, run_study
from relulab.lab.run.store import Run
from relulab.lab.show.animation import Animation, animated
from relulab.lab.show.report import build

FRAMES = 7


def growing(frames: int = FRAMES, rest: float = 2.0) -> Animation:
    """A red bar that grows to the right."""
    figure = Figure(figsize=(2, 1))
    ax = figure.subplots()
    (bar,) = ax.barh([0], [0.0], color="#d1495b")
    ax.set(xlim=(0, frames), title="a bar")
    return Animation(figure, lambda i: bar.set_width(i + 1), frames, "A bar grows.", seconds=0.7, rest=rest)


def pictures(gif: bytes) -> tuple[list[np.ndarray], list[int]]:
    """Every frame as a reader composes it, and how long it stays."""
    image, found, times = Image.open(BytesIO(gif)), [], []
    for i in range(image.n_frames):
        image.seek(i)
        found.append(np.asarray(image.convert("RGB")).astype(int))
        times.append(image.info["duration"])
    return found, times


def red(picture: np.ndarray) -> int:
    return int((np.abs(picture - np.array([0xD1, 0x49, 0x5B])).max(-1) < 12).sum())


def test_frames_follow_each_other_and_the_last_one_rests():
    found, times = pictures(animated(growing()).gif)
    assert len(found) == FRAMES and times == [100] * (FRAMES - 1) + [2100]
    widths = [red(picture) for picture in found]
    assert widths[0] > 20 and np.ptp(np.diff(widths)) <= 0.1 * widths[-1] and min(np.diff(widths)) > 0


def test_the_same_drawing_gives_the_same_bytes_and_another_does_not():
    one, two = animated(growing()), animated(growing())
    assert one == two and one.gif != animated(growing(rest=1)).gif
    moved = growing()
    moved.draw(3)  # what was drawn before does not matter
    assert animated(moved) == one


def test_the_still_is_the_last_frame_and_paper_is_white():
    moving = animated(growing())
    still = np.asarray(Image.open(BytesIO(moving.still)).convert("RGB")).astype(int)
    found, _ = pictures(moving.gif)
    assert np.abs(still - found[-1]).max() <= 40 and np.abs(still - found[-1]).mean() < 1
    assert np.abs(still - found[0]).mean() > 5
    assert all((picture[0, 0] == 255).all() for picture in found)


def test_frames_are_of_one_size_when_their_words_are_not():
    figure = Figure(figsize=(2, 2), layout="constrained")
    ax = figure.subplots()
    animation = Animation(figure, lambda i: ax.set_ylabel("\n".join("lines"[: i + 1])), 4, "A label grows.")
    found, _ = pictures(animated(animation).gif)
    left = [int(np.flatnonzero((picture < 128).all(-1).sum(0) > 100)[0]) for picture in found]
    assert len(set(left)) == 1  # the axis stands still


def test_no_frames_is_said():
    with pytest.raises(UserError, match="at least one frame, got 0"):
        animated(replace(growing(), frames=0))


@pytest.fixture
def study():
    return find_study("SS.F3").configured("smoke", {"steps": 10})


@pytest.fixture
def run(study, moving_runs, tmp_path) -> Run:
    shutil.copytree(moving_runs, tmp_path / "runs")
    run = Run.of(study, "smoke", tmp_path / "runs")
    assert run.finished
    return run


def test_a_run_lists_and_keeps_its_animations(run):
    listed = json.loads((run.path / "figures.json").read_text())
    assert [one["figure"] for one in listed[:2]] == ["frames", "students"] and listed[2]["animation"] == "lines"
    assert all(one["caption"] for one in listed)
    assert "student 6 has alignment error" in listed[2]["words"]
    files = {path.name for path in (run.path / "figures").iterdir()}
    assert {"lines.gif", "lines.still.png", "frames.svg"} <= files and "lines.svg" not in files


@pytest.mark.parametrize("lost", ["lines.gif", "lines.still.png"])
def test_a_lost_animation_is_drawn_again_with_the_same_bytes(study, run, lost, monkeypatch):
    monkeypatch.setattr(type(study), "measure", lambda *_: pytest.fail("it trained again"))
    path = run.path / "figures" / lost
    before = path.read_bytes()
    path.unlink()
    assert not run.finished
    run_study(study, preset="smoke", runs=run.path.parent.parent, engine=Local(1))
    assert path.read_bytes() == before and run.finished


def test_redraw_draws_animations_too(study, run):
    path = run.path / "figures" / "lines.gif"
    before = path.read_bytes()
    path.write_bytes(b"GIF89a of another day")
    run_study(study, preset="smoke", runs=run.path.parent.parent, redraw=True)
    assert path.read_bytes() == before


@pytest.mark.parametrize("entry", [{}, {"animation": 7}, {"words": "no name"}, None])
def test_a_damaged_list_counts_as_unfinished(run, entry):
    (run.path / "figures.json").write_text(json.dumps(["frames", entry]))
    assert not run.finished


class Tags(HTMLParser):
    def __init__(self, text: str):
        super().__init__()
        self.found: list[tuple[str, dict]] = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.found.append((tag, dict(attrs)))

    def all(self, tag: str, key: str) -> list[dict]:
        return [attrs for name, attrs in self.found if name == tag and key in attrs]


def page_of(report: Path) -> tuple[Path, Tags]:
    path = next((report / "runs").glob("plane-*.html"))
    return path, Tags(path.read_text())


def test_the_report_shows_an_animation_with_words_a_still_and_a_download(run, tmp_path):
    out = build(run.path.parent.parent, tmp_path / "out").parent
    path, tags = page_of(out)
    (image,), (still,) = tags.all("img", "loading"), tags.all("source", "media")
    assert image["loading"] == "lazy" and "The lines of 6 students move toward" in image["alt"]
    gif = (path.parent / image["src"]).resolve()
    assert gif.read_bytes() == (run.path / "figures" / "lines.gif").read_bytes()
    with Image.open(gif) as picture:
        assert picture.size == (int(image["width"]), int(image["height"]))
    assert "prefers-reduced-motion: reduce" in still["media"]
    assert (path.parent / still["srcset"]).read_bytes() == (run.path / "figures" / "lines.still.png").read_bytes()
    assert image["src"] in [a["href"] for a in tags.all("a", "download")]
    assert tags.all("button", "data-motion")[0].keys() >= {"hidden", "aria-label"}  # shown by the script that serves it


def test_runs_without_animations_are_read_as_ever(run, tmp_path):
    (run.path / "figures.json").write_text('[{"figure": "frames"}, {"figure": "students"}]')
    resealed(run.path)
    assert run.finished
    path, tags = page_of(build(run.path.parent.parent, tmp_path / "out").parent)
    assert (
        len(tags.all("img", "src")) == 2 and not tags.all("source", "media") and "data-motion" not in path.read_text()
    )


def test_words_are_escaped_and_names_are_names(run, tmp_path):
    listed = [
        {"figure": "frames"},
        {"figure": "students"},
        {"animation": "lines", "words": '"><script>alert(1)</script>'},
    ]
    (run.path / "figures.json").write_text(json.dumps(listed))
    resealed(run.path)
    path, tags = page_of(build(run.path.parent.parent, tmp_path / "out").parent)
    assert "<script>alert" not in path.read_text() and "<script>alert(1)" in tags.all("img", "loading")[0]["alt"]
    listed[2]["animation"] = "../lines"
    (run.path / "figures.json").write_text(json.dumps(listed))
    resealed(run.path)
    with pytest.raises(UserError, match=r"figures\.json"):
        build(run.path.parent.parent, tmp_path / "other")


@pytest.mark.parametrize("damage, sentence", [(b"", "is not a GIF"), (b"GIF8", "is not a GIF"), (None, "No such file")])
def test_a_damaged_animation_is_named(run, tmp_path, damage, sentence):
    path = run.path / "figures" / "lines.gif"
    path.unlink() if damage is None else path.write_bytes(damage)
    resealed(run.path)
    with pytest.raises(UserError, match=rf"lines\.gif.*{sentence}"):
        build(run.path.parent.parent, tmp_path / "out")
