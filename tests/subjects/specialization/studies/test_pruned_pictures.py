"""LM section 3.3 on pictures: accuracies counted by hand, claims that can fail, and settings that do not fit."""

import numpy as np
import pytest
import torch
import xarray as xr

from relulab.core.errors import UserError
from relulab.lab.control import controlled
from relulab.lab.theorem import Verdict
from relulab.subjects.specialization.studies.cifar_pictures import picture_net, pictures, train_on_classes
from relulab.subjects.specialization.studies.pruned_pictures.claims import claims_of, controls_of
from relulab.subjects.specialization.studies.pruned_pictures.study import PrunedPictures
from relulab.subjects.specialization.tools.layer_pruning import prune_layers
from relulab.subjects.specialization.tools.removal import CRITERIA

SMALL = {"seeds": 1, "n_train": 120, "n_held_out": 60, "n_fit": 40, "by": ("norm", "missed")}


@pytest.fixture
def study(made_up_data, monkeypatch) -> PrunedPictures:
    monkeypatch.setenv("RELULAB_DATA", str(made_up_data))
    found = PrunedPictures.configured("smoke", SMALL)
    assert isinstance(found, PrunedPictures)
    return found


def test_a_unit_stores_accuracies_counted_by_hand(study):
    (unit,) = study.units()
    steps: list[int] = []
    data = study.measure(unit, steps.append).squeeze("seed")
    assert sum(steps) == unit.seed_steps
    train, held_out = pictures(0, **study.drawn())
    net = picture_net(study.channels, study.side)
    settings = {"seed": 0, "root": 0, "momentum": 0.9, "batch": study.batch, "tick": lambda steps: None}
    train_on_classes(net, train, epochs=study.epochs, lr=study.lr, **settings)

    def right(net: torch.nn.Module) -> float:
        with torch.no_grad():
            return sum(int(net(x[None]).argmax()) == int(y) for x, y in zip(held_out.x, held_out.y, strict=True)) / 60

    assert float(data.whole) == right(net.eval())
    for by in study.by:
        plain, fitted = (prune_layers(net, train.x[:40], by=by, keep_macs=0.5, refit=r) for r in (False, True))
        assert float(data.accuracy.sel(by=by, stage="pruned")) == right(plain.net.eval())
        assert float(data.accuracy.sel(by=by, stage="refitted")) == right(fitted.net.eval())
        train_on_classes(fitted.net, train, epochs=study.tuning_epochs, lr=study.tuning_lr, **settings)
        assert float(data.accuracy.sel(by=by, stage="tuned")) == right(fitted.net.eval())
        assert 0 < float(data.kept.sel(by=by)) <= 0.5
        convolutions = [m.out_channels for m in fitted.net.modules() if isinstance(m, torch.nn.Conv2d)]
        assert data.width.sel(by=by).values.tolist() == convolutions


def made_up(seeds: int, pruned: dict[str, float], tuned: float, whole: float = 0.8) -> xr.Dataset:
    """Accuracies of three criteria with a little noise from seed to seed."""
    noise = 0.004 * np.random.default_rng(0).standard_normal((seeds, len(pruned), 3))
    start = np.array([*pruned.values()])
    found = np.stack([start, start + 0.1, np.full_like(start, tuned)], -1) + noise
    return xr.Dataset(
        {"accuracy": (("seed", "by", "stage"), found), "whole": ("seed", whole + noise[:, 0, 0]), "kept": 0.5},
        coords={"seed": range(seeds), "by": [*pruned], "stage": ["pruned", "refitted", "tuned"]},
    )


def judged(result: xr.Dataset) -> dict[str, Verdict]:
    claims = controlled(claims_of(result, 3), controls_of(result, 0), lambda found: claims_of(found, 3))
    assert all(c.control is not None for c in claims)
    assert not [c.id for c in claims if c.control and c.control.verdict is Verdict.HOLDS]
    return {c.id.removeprefix("LM.X.prune."): c.verdict for c in claims}


def test_claims_hold_where_they_are_true_and_not_where_they_are_false():
    good = judged(made_up(6, {"missed": 0.6, "modulation": 0.5, "norm": 0.2}, 0.79))
    assert good == dict.fromkeys(("modulation", "refit", "criteria", "half"), Verdict.HOLDS)
    bad = judged(made_up(6, {"missed": 0.5, "modulation": 0.2, "norm": 0.5}, 0.7))
    assert bad["modulation"] is bad["half"] is Verdict.REFUTED


def test_all_criteria_are_compared():
    assert PrunedPictures.configured("paper").by == CRITERIA


def test_the_note_lists_all_accuracies():
    result = made_up(6, {"missed": 0.6, "modulation": 0.5, "norm": 0.2}, 0.79)
    *_, half = claims_of(result, 3)
    numbers = [100 * float(result.accuracy.sel(by="norm", stage=stage).mean()) for stage in ("pruned", "refitted")]
    assert f"the whole network has {100 * float(result.whole.mean()):.1f} ±" in half.note
    assert f"norm {numbers[0]:.1f} ±" in half.note and f", {numbers[1]:.1f} ±" in half.note


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"n_fit": 121}, "n_fit=121 is more than n_train=120"),
        ({"by": ("norm", "norm")}, "has a criterion twice"),
        ({"by": ("size",)}, "missed"),
        ({"keep_macs": 1.0}, "less than 1"),
    ],
)
def test_settings_that_do_not_fit(changes, words):
    with pytest.raises(UserError, match=words):
        PrunedPictures.configured("smoke", {**SMALL, **changes})
