"""SS figure 10 and LM figure 9: on tiny made-up pictures the whole way, and what is refused."""

import numpy as np
import pytest
import torch
from pydantic import ValidationError

from relulab import UserError, hidden
from relulab.subjects.specialization.studies.cifar_students import measures
from relulab.subjects.specialization.studies.cifar_students.study import CifarStudents

SMALL = {
    "seeds": 1,
    "n_train": 120,
    "n_held_out": 60,
    "n_measured": 60,
    "teacher_epochs": 2,
    "over": (1, 3),
    "without": 3,
}


@pytest.fixture
def study(made_up_data, monkeypatch) -> CifarStudents:
    monkeypatch.setenv("RELULAB_DATA", str(made_up_data))
    found = CifarStudents.configured("smoke", SMALL)
    assert isinstance(found, CifarStudents)
    return found


def test_a_unit_stores_what_a_naive_measurement_finds(study):
    (unit,) = study.units()
    steps: list[int] = []
    data = study.measure(unit, steps.append).squeeze("seed")
    assert sum(steps) == unit.seed_steps
    setup = study.setup()
    train, held_out = measures.pictures(0, **setup.drawn)
    teacher, pruned = measures.teachers(0, setup, train, lambda steps: None)
    assert float(data.teacher) == measures.accuracy(teacher, held_out)
    assert [part.out_channels for part in pruned.modules() if isinstance(part, torch.nn.Conv2d)] == setup.pruned
    assert data.arm.values.tolist() == ["1×", "3×", "3× without BatchNorm"]
    f_star = list(hidden(pruned, held_out.x).values())
    student = measures.picture_net([3 * n for n in setup.pruned], study.side, seed=0, root=0)
    for l, (a, b) in enumerate(zip(f_star, hidden(student, held_out.x).values(), strict=True)):
        both = np.nan_to_num(np.corrcoef(a.double().T, b.double().T))[: a.shape[1], a.shape[1] :]
        alive = (a.amax(0) > a.amin(0)).numpy()
        assert float(data.rho.sel(arm="3×", layer=l, epoch=0)) == pytest.approx(both[alive].max(1).mean(), abs=1e-4)
    assert float(data.accuracy.sel(arm="3×", epoch=0)) == measures.accuracy(student, held_out)


def test_held_out_pictures_are_reduced_and_standardized_like_those_for_training(study):
    train, held_out = measures.pictures(0, **study.drawn())
    assert train.x.shape == (120, 3, 8, 8) and held_out.x.shape == (60, 3, 8, 8)
    colors = torch.stack([train.x[train.y == c].mean((0, 2, 3)) for c in range(10)])
    found = torch.stack([held_out.x[held_out.y == c].mean((0, 2, 3)) for c in range(10)])
    assert torch.allclose(colors, found, atol=0.1)  # each class has a color of its own


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        (
            {"n_train": 301},
            "expected n_train ≤ 300, the number of pictures in data_batch_1.bin of CIFAR-10, got n_train",
        ),
        ({"n_held_out": 121}, "expected n_held_out ≤ 120, the number of pictures in test_batch.bin"),
    ],
)
def test_more_pictures_than_there_are(study, changes, words):
    with pytest.raises(UserError, match=words):
        study.model_copy(update=changes).ready()


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"reduced": 3}, "does not divide 32 pixels"),
        ({"without": 2}, "is no width in over"),
        ({"n_measured": 61}, "is more than n_held_out"),
        ({"reduced": 8}, "expected images of at least 5 × 5 pixels"),
    ],
)
def test_settings_that_do_not_fit(changes, words):
    with pytest.raises((UserError, ValidationError), match=words):
        CifarStudents.configured("smoke", {**SMALL, **changes})
