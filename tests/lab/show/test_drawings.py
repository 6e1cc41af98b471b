"""Every figure of every study explains itself: captions, labels, and looks that differ in more than color."""

import numpy as np
import pytest
import xarray as xr
from clear_figures import cut_off, figure_problems, label_problems, problems
from matplotlib.figure import Figure
from plain_words import unexplained

from relulab import save, torch_default
from relulab.lab.catalog import find_measurement, studies
from relulab.lab.run.job import _caption
from relulab.lab.show.figure import house_style, look, panels
from relulab.subjects.bias.tools.orthants import OppositeOrthants

SMALL = {
    "teacher-aware": {"seeds": 1, "points": (30,)}, "zero-gradient": {"seeds": 1}, "symmetry-breaking": {"seeds": 1},
    "slow-escape": {"seeds": 1, "epsilon": (0.1, 0.05)}, "digit-features": {"seeds": 1, "n_held_out": 6},
    "optimization-bias": {"n_teacher": 20, "n": 10}, "max-margin-limit": {"seeds": 1, "until": 10.0},
    "residual-rays": {"epochs": 1}, "two-layer-rays": {"epochs": 1},
}  # fmt: skip


@pytest.mark.parametrize("name", studies())
def test_every_figure_and_claim_explains_itself(name, made_up_data, monkeypatch):
    monkeypatch.setenv("RELULAB_DATA", str(made_up_data))
    study = studies()[name].configured("smoke", SMALL.get(name, {}))
    parts = [study.measure(unit, lambda steps: None) for unit in study.units()]
    result = xr.merge(parts, join="outer", compat="no_conflicts")
    with house_style():
        figures, animations = study.figures(result), study.animations(result)
        assert set(study.captions) == {*figures, *animations}
        for key, drawn in (figures | {key: animation.figure for key, animation in animations.items()}).items():
            if key in animations:
                animations[key].draw(animations[key].frames - 1)
            assert problems(drawn, _caption(study, key)) == [], key
    claims = study.claims(result)
    assert claims and len({claim.id for claim in claims}) == len(claims)
    for claim in claims:
        assert claim.says[0].isupper() or claim.says[0].isdigit()
        assert claim.statistic and not claim.says.endswith(".") and not claim.statistic.endswith(".")
    texts = [study.title, type(study).__doc__ or "", study.remarks, *study.captions.values()]
    texts += [text for claim in claims for text in (claim.says, claim.statistic, claim.note)]
    texts += [field.description or "" for field in type(study).model_fields.values()]
    assert unexplained(study.ids[0], study.symbols, texts) == []


CAPTION = "Lines with circles and squares: the loss against the step."


def plot(**changes) -> Figure:
    figure, axes = panels(1, 1)
    for i, name in enumerate(("a", "b")):
        axes[0, 0].plot([1, 2], [i, 3], label=name, **look(i) | changes)
    axes[0, 0].set(xlabel="training step", ylabel="mean loss")
    return figure


def test_a_clear_figure_has_no_problems():
    assert problems(plot(), CAPTION) == []


@pytest.mark.parametrize(("changes", "caption", "found"), [
    ({"ls": "-", "marker": "o"}, CAPTION, "looks like another line but for its color"),
    ({"color": "#2ca02c"}, CAPTION, "is not in the palette"),
    ({}, "The loss falls during training, see figure 3.", "says nothing like"),
    ({}, "Lines with circles and squares.", "says nothing like"),
])  # fmt: skip
def test_unclear_figures_would_be_noticed(changes, caption, found):
    assert any(found in problem for problem in problems(plot(**changes), caption))


def test_missing_labels_and_cut_texts_would_be_noticed():
    figure = plot()
    figure.axes[0].set(xlabel="$x_1$", ylabel="")
    figure.text(0.8, 0.5, "a text that does not fit")
    assert len(label_problems(figure)) == 2 and "on the right" in cut_off(figure)[0]


@pytest.mark.parametrize("name", ["separability", "max-margin", "transfer-risk"])
def test_every_picture_of_a_measurement_explains_itself(name, tmp_path):
    rng = np.random.default_rng(0)
    data = OppositeOrthants(4).draw(rng, 30)
    table, points, teacher = tmp_path / "table.csv", tmp_path / "x.npy", tmp_path / "w.npy"
    np.savetxt(table, np.c_[data.X.numpy(), data.y.numpy()], delimiter=",", header="a,b,c,d,y", comments="")
    np.save(points, rng.standard_normal((80, 6)) + 1)
    np.save(teacher, np.arange(1.0, 7))
    save(torch_default((4, 5, 3, 1), [0]), tmp_path / "net.safetensors")
    given = {
        "separability": {"table": table, "network": tmp_path / "net.safetensors"}, "max-margin": {"table": table},
        "transfer-risk": {"file": points, "teacher": teacher, "risk": 0.05},
    }[name]  # fmt: skip
    kind = find_measurement(name)
    options = {kind.arguments[0] if key in ("table", "file") else key: path for key, path in given.items()}
    picture = kind.given(**options).measure().picture
    assert picture is not None and figure_problems(picture()) == []
