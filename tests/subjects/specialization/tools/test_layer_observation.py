"""Correlations in every hidden layer against the plain instrument on all points at once."""

import pytest
import torch

import relulab as rl
from relulab import UserError
from relulab.subjects.specialization.tools import layer_observation
from relulab.subjects.specialization.tools.layer_observation import LayerObserver

WIDTHS, SEEDS = (6, 4, 5, 3), [0, 3]


@pytest.fixture(scope="module")
def task() -> rl.Task:
    teacher = rl.specialization.luck_teacher(WIDTHS, seeds=SEEDS)
    teacher.b[1].data[1, 0, 2] = -1e3  # a node of the second layer that is never active
    return rl.Task(teacher, rl.Gaussian(6, 2.0), seeds=SEEDS, n_train=10, n_held_out=300, dtype=torch.float64)


@pytest.mark.parametrize("batch_norm", [None, "after", "before"])
def test_every_layer_equals_the_instrument(task, batch_norm, monkeypatch):
    monkeypatch.setattr(layer_observation, "CHUNK", 70)  # several parts, the last one smaller
    student = rl.torch_default((6, 9, 8, 3), SEEDS, batch_norm=batch_norm, dtype=torch.float64)
    points = task.held_out()
    observer = LayerObserver(task.teacher, points)
    seen = observer(student)
    for i in range(2):
        x, y = points.of_lane(i)
        expected = rl.specialization.layer_correlations(task.teacher.lane(i), student.lane(i), x)
        for rho, layer in zip(seen.rho, expected.values(), strict=True):
            torch.testing.assert_close(rho[i], layer[0], rtol=0, atol=1e-10)
        f = student.lane(i).eval()(x)[0]
        torch.testing.assert_close(seen.loss[i], (f - y).square().mean())
        student.train()
    for l, alive in enumerate(observer.alive):
        f = torch.stack([task.teacher.lane(i).layers(points.of_lane(i)[0])[l][0] for i in range(2)])
        assert torch.equal(alive, (f != f[:, :1]).any(1))
    assert not bool(observer.alive[1][1, 2]) and not bool(seen.rho[1][1, 2].any()) and bool(observer.alive[0].all())


def test_a_student_of_another_depth_or_number_is_refused(task):
    observer = LayerObserver(task.teacher, task.held_out())
    with pytest.raises(UserError, match="2 lanes and 3 layers of weights"):
        observer(rl.torch_default((6, 9, 3), SEEDS, dtype=torch.float64))
    with pytest.raises(UserError, match="2 lanes and 3 layers of weights"):
        observer(rl.torch_default((6, 9, 9, 3), [0], dtype=torch.float64))
    with pytest.raises(UserError, match="hidden layer"):
        LayerObserver(rl.MLP((6, 3), dtype=torch.float64), task.held_out())
