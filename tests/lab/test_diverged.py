"""What a study says about networks that diverged: in a sentence, in claims and on figures."""

import numpy as np
import pytest
import xarray as xr
from matplotlib.figure import Figure
from matplotlib.ticker import Locator

import relulab as rl
from relulab.core.alerts import alert
from relulab.lab.diverged import diverged, marked
from relulab.lab.run.answers import animations_of, claims_of, figures_of
from relulab.lab.run.engines.measured_unit import measured
from relulab.lab.show.animation import Animation
from relulab.lab.show.figure import drawn, panels


class Unable(Locator):
    """Ticks that cannot be placed, as on a logarithmic axis without positive values."""

    def __call__(self):
        raise ValueError("Data cannot be log-scaled because all values are <= 0.")


class Small(rl.Study):
    """A study of two seeds."""

    name, ids, title, source = "small", ("X.1",), "Small", "nowhere"
    presets = {"smoke": {}}  # noqa: RUF012

    tells: bool = True
    """put diverged_at into the result"""
    breaks: bool = False
    """draw a figure that cannot be drawn with NaN"""

    def units(self):
        return [rl.Unit("all", {})]

    def measure(self, unit, tick):
        alert("1 of 2 networks diverged", rl.Diverged)
        data = xr.Dataset({"x": ("seed", [1.0, np.nan])}, coords={"seed": [0, 1]})
        return data.assign(diverged_at=("seed", [-1, 7])) if self.tells else data

    def figures(self, result):
        figure, axes = panels(1, 1)
        axes[0, 0].plot(result.x)
        if self.breaks:
            axes[0, 0].set_xscale("log")
            axes[0, 0].xaxis.set_major_locator(Unable())
        return {"x": figure}

    def claims(self, result):
        return [rl.claim("X.1.a", "Something", result.x.values, ">", 0)]

    def animations(self, result):
        return {"moves": Animation(Figure(), lambda i: None, 2, "Something moves.")}


RESULT = xr.Dataset({"x": ("seed", [1.0, np.nan]), "diverged_at": ("seed", [-1, 7])}, coords={"seed": [0, 1]})
SENTENCE = "1 of 2 networks diverged (first at step 7: seed 1): lower lr."


def test_the_first_network_is_named_by_its_coordinates():
    at = xr.DataArray(
        [[[-1.0, 40.0], [np.nan, 12.0]]], dims=("over", "polarity", "seed"),
        coords={"over": [5], "polarity": [0.5, 1.0], "seed": [2, 4]},
    )  # fmt: skip
    assert diverged(xr.Dataset({"diverged_at": at})) == (
        "2 of 3 networks diverged (first at step 12: over 5, polarity 1, seed 4): lower lr."
    )
    assert diverged(xr.Dataset({"diverged_at": at.where(at < 0, -1)})) == diverged(xr.Dataset()) == ""


def test_claims_and_figures_say_it_and_animations_are_left_out():
    (claim,) = claims_of(Small(), RESULT)
    assert claim.note.startswith(SENTENCE)
    assert SENTENCE in figures_of(Small(), RESULT)["x"].get_suptitle().replace("\n", " ")
    assert animations_of(Small(), RESULT) == {}
    calm = RESULT.assign(diverged_at=("seed", [-1, -1]))
    assert SENTENCE not in claims_of(Small(), calm)[0].note and set(animations_of(Small(), calm)) == {"moves"}
    assert not figures_of(Small(), calm)["x"].get_suptitle()


def test_a_figure_that_cannot_be_drawn_with_nan_becomes_the_sentence():
    study = Small(breaks=True)
    (figure,) = figures_of(study, RESULT).values()
    assert SENTENCE in " ".join(text.get_text() for text in figure.texts).replace("\n", " ")
    assert drawn(figure, "svg")

    class Broken(Small):
        def figures(self, result):
            raise ValueError("NaN")

    broken = Broken()
    assert SENTENCE in " ".join(t.get_text() for t in figures_of(broken, RESULT)["diverged"].texts).replace("\n", " ")
    with pytest.raises(Exception, match="NaN"):
        figures_of(broken, RESULT.drop_vars("diverged_at"))


def test_a_title_is_kept():
    figure = Figure()
    figure.suptitle("Title")
    assert marked(figure, "A sentence.").get_suptitle() == "Title\nA sentence."
    assert marked(Figure(), "").get_suptitle() == ""


def test_a_unit_warns_unless_its_result_tells():
    unit = rl.Unit("all", {})
    measured(Small(), unit, lambda n: None)
    with pytest.warns(rl.Diverged):
        measured(Small(tells=False), unit, lambda n: None)
