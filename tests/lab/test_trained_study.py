"""Fields of the optimizer: what they pass to ``fit``, and that the defaults are plain SGD."""

import pytest

import relulab as rl
from relulab.lab.trained_study import TrainedStudy
from relulab.train.schedules import Cosine, StepDecay

TRAINED = ("SS.F3", "SS.F5", "SS.F7", "SS.F8", "SS.F9", "S0.T5.sim", "IB.F1", "IB.F2", "IB.F3")


def training(id="SS.F7", parts=1, **changes):
    study = rl.find_study(id).configured("smoke", changes)
    assert isinstance(study, TrainedStudy)
    return study.training(parts)


@pytest.mark.parametrize("id", TRAINED)
def test_by_default_the_published_optimizer(id):
    rate = {"IB.F1": 0.1, "IB.F2": 0.1}.get(id, 0.01)
    optimizer = rl.Adam(1e-3) if id == "IB.F3" else rl.SGD(rate)
    assert training(id) == {"optimizer": optimizer, "schedule": None, "label_noise": 0}


def test_every_field_arrives():
    full = training(lr=0.02, momentum=0.9, nesterov=True, weight_decay=1e-4, label_noise=0.1)
    assert full["optimizer"] == rl.SGD(0.02, 0.9, True, 1e-4) and full["label_noise"] == 0.1
    assert training(optimizer="adam", weight_decay=0.1)["optimizer"] == rl.Adam(0.01, weight_decay=0.1)
    assert training(schedule="cosine", epochs=7)["schedule"] == Cosine(7)
    assert training(schedule="step", decay_every=4, decay_factor=0.5)["schedule"] == StepDecay(4, 0.5)
    assert training("SS.F3", 10, schedule="cosine", epochs=7)["schedule"] == Cosine(70)
    assert training("SS.F3", 10, schedule="step", decay_every=4)["schedule"] == StepDecay(40, 0.1)


@pytest.mark.parametrize("changes, sentence", [
    ({"nesterov": True}, "nesterov=true needs a momentum above 0"),
    ({"optimizer": "adam", "momentum": 0.9}, "momentum is a setting of SGD"),
    ({"momentum": 1.0}, "field momentum: expected a value less than 1"),
    ({"schedule": "linear"}, "field schedule: expected"),
    ({"slope": -0.1}, "field slope: expected"),
])  # fmt: skip
def test_mistakes_name_the_field(changes, sentence):
    with pytest.raises(rl.UserError, match=sentence):
        rl.find_study("SS.F7").configured("smoke", changes)


TINY = {"seeds": 2, "epochs": 2, "steps": 20, "n_train": 50, "n_held_out": 50}


@pytest.mark.parametrize("id, sizes", [
    ("SS.F7", {**TINY, "over": [2]}), ("SS.F5", {**TINY, "over": [2]}), ("SS.F3", TINY),
    ("SS.F9", {"seeds": 2, "epochs": 2, "steps": 20, "n_held_out": 50, "points": [30]}),
    ("S0.T5.sim", TINY), ("IB.F1", {"epochs": 2}),
])  # fmt: skip
@pytest.mark.parametrize("changes", [
    {"momentum": 0.9}, {"weight_decay": 0.1}, {"label_noise": 0.4}, {"optimizer": "adam"}, {"slope": 0.3},
    {"slope": 0.3, "teacher_slope": 0.0}, {"schedule": "step", "decay_every": 1},
], ids=str)  # fmt: skip
def test_every_field_changes_what_a_unit_measures(id, sizes, changes):
    kind = rl.find_study(id)
    if changes.keys() - kind.model_fields.keys():
        assert id in ("S0.T5.sim", "IB.F1")  # which are about plain ReLUs, or have no teacher
        return
    plain, changed = (kind.configured("smoke", {**sizes, **more}) for more in ({}, changes))
    before, after = (study.measure(study.units()[0], lambda n: None) for study in (plain, changed))
    assert set(before) >= set(after) and not before[list(after)].equals(after)
