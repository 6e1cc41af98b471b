"""Correlations of convolutional students with their teachers, part by part, against a naive measurement."""

import numpy as np
import pytest
import torch
from torch import nn

import relulab as rl
from relulab import Gaussian, Task, UserError, conv_net
from relulab.subjects.specialization import ModuleObserver, luck_conv_teacher


@pytest.fixture(scope="module")
def task() -> Task:
    teacher = luck_conv_teacher((1, 4, 5), 8, 3, seed=2)
    teacher[2].bias.data[1] = -1e6  # a channel that is never active
    return Task(teacher, Gaussian(64, 10.0), seeds=[2], n_train=50, n_held_out=230, shape=(1, 8, 8))


def test_the_targets_are_the_outputs_of_the_teacher(task):
    points = task.train()
    assert points.X.shape == (1, 50, 1, 8, 8) and task.outputs == 3 and task.d == 64
    with torch.no_grad():
        assert torch.allclose(points.Y[0], task.teacher(points.X[0]), rtol=1e-5, atol=1e-4)
    assert torch.equal(task.train(3).X, points.X)
    fresh = Task(task.teacher, Gaussian(64, 10.0), seeds=[2], n_train=50, fresh=True, shape=(1, 8, 8))
    assert not torch.equal(fresh.train(1).X, fresh.train(0).X)


def test_correlations_and_loss_against_a_naive_measurement(task):
    student = conv_net((1, 7, 6), 8, 3, seed=5, batch_norm="after")
    rl.fit(student, task, epochs=1, batch=25, optimizer=rl.SGD(0.001), loss=rl.MSE())
    observe, (x, y) = ModuleObserver(task.teacher, task.held_out()), task.held_out().of_lane(0)
    seen, training = observe(student), student.training
    hidden = [rl.hidden(net, x) for net in (task.teacher, student)]
    for l, (f_star, f) in enumerate(zip(*(h.values() for h in hidden), strict=True)):
        with np.errstate(invalid="ignore"):  # of channels that are never active
            both = np.corrcoef(f_star.double().numpy().T, f.double().numpy().T)
        m = f_star.shape[1]
        naive = np.nan_to_num(both[:m, m:])
        assert np.abs(seen.rho[l][0].numpy() - naive).max() < 1e-5
        assert observe.alive[l][0].tolist() == [bool(f_star[:, j].max() > 0) for j in range(m)]
    assert not observe.alive[1][0, 1] and not seen.rho[1][0, 1].any()
    with torch.no_grad():
        assert float(seen.loss) == pytest.approx(float((student.eval()(x) - y).square().mean()), rel=1e-5)
    assert training  # measured in eval mode, and put back


def test_a_teacher_has_correlation_1_with_itself(task):
    observe = ModuleObserver(task.teacher, task.held_out())
    seen = observe(task.teacher)
    for rho, alive in zip(seen.rho, observe.alive, strict=True):
        assert torch.allclose(rho.diagonal(dim1=1, dim2=2)[alive], torch.ones(1), atol=1e-5)
    assert float(seen.loss) < 1e-6 and "ModuleObserver" in repr(observe) and "LayerObservation" in repr(seen)


@pytest.mark.parametrize(
    ("student", "words"),
    [
        (conv_net((1, 4), 8, 3), "expected a student with 2 hidden layers like its teacher, got Sequential with 1"),
        (conv_net((1, 4, 5), 8, 3, padding=1), "expected images of 6 × 6 pixels in hidden layer 0 .*got 8 × 8 pixels"),
    ],
)
def test_students_that_do_not_match_are_refused(task, student, words):
    with pytest.raises(UserError, match=words):
        ModuleObserver(task.teacher, task.held_out())(student)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"shape": (1, 8, 7)}, "expected the shape of the inputs of a module, with a product of 64, got \\(1, 8, 7\\)"),
        ({"seeds": [0, 1]}, "got 2 seeds for 1 lane"),
        ({"teacher": nn.Flatten(0)}, "expected a teacher with outputs of shape \\(N, C\\)"),
        ({"teacher": nn.Linear(3, 2)}, "Linear failed on points of shape \\(1, 1, 8, 8\\)"),
        ({"teacher": rl.MLP((64, 3, 2))}, "leave shape out"),
    ],
)
def test_tasks_that_do_not_fit_are_refused(task, changes, words):
    options = {"teacher": task.teacher, "seeds": [0], "shape": (1, 8, 8), "inputs": Gaussian(64)} | changes
    with pytest.raises(UserError, match=words):
        Task(options.pop("teacher"), options.pop("inputs"), **options)
