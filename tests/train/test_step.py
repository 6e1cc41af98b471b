"""The step without autograd, compared with autograd, and independence of seeds."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from relulab import MSE, CrossEntropy, Gaussian, Probe, Task, UserError, sgd, small_normal, torch_default
from relulab.subjects.specialization import teacher
from relulab.train.optimizers import SGD
from relulab.train.step import Step

LOSSES = {
    "mse": (MSE(), lambda f, y: 0.5 * (f - y).square().sum(-1)),
    "class": (CrossEntropy(), lambda f, y: -(y * f.log_softmax(-1)).sum(-1)),
    "soft": (CrossEntropy(soft=True), lambda f, y: -(y * f.log_softmax(-1)).sum(-1)),
}


@settings(max_examples=60, deadline=None)
@given(
    widths=st.lists(st.integers(1, 7), min_size=2, max_size=6),
    lanes=st.integers(1, 3),
    bias=st.booleans(),
    slope=st.sampled_from([0.0, 0.1]),
    loss=st.sampled_from(sorted(LOSSES)),
)
def test_step_equals_autograd(widths, lanes, bias, slope, loss):
    net = torch_default(widths, seeds=range(lanes), bias=bias, slope=slope, dtype=torch.float64)
    rates = torch.linspace(0.1, 0.3, lanes, dtype=torch.float64)
    x = torch.randn(lanes, 5, widths[0], dtype=torch.float64)
    loss_object, value = LOSSES[loss]
    y = loss_object.targets(torch.randn(lanes, 5, widths[-1], dtype=torch.float64))
    trained = [p for p in net.parameters() if p.requires_grad]
    grads = torch.autograd.grad(value(net(x), y).mean(-1).sum(), trained)
    expected = [p.data - rates[:, None, None] * g for p, g in zip(trained, grads, strict=True)]
    Step(net, loss_object, SGD(lr=rates.tolist()))(x, y)
    for p, e in zip(trained, expected, strict=True):
        torch.testing.assert_close(p.data, e, rtol=1e-11, atol=1e-12)
    assert bias or all(b.data.abs().max() == 0 for b in net.b)


def trained(seeds: list[int], dtype=torch.float64, steps: int = 500, polarity: float = 1.0):
    net = teacher((20, 5, 6), seeds=seeds, polarity=polarity)
    task = Task(net, Gaussian(20, 1.5), seeds=seeds, n_train=300, n_held_out=100, dtype=dtype)
    student = small_normal((20, 25, 6), seeds, dtype=dtype)
    start = [p.data.clone() for p in student.parameters()]
    sgd(student, task, epochs=1, steps=steps)
    return start, [p.data for p in student.parameters()]


def test_seed_7_alone_and_among_32_over_500_steps():
    start_alone, alone = trained([7])
    start_among, among = trained(list(range(32)))
    assert all(torch.equal(a[0], b[7]) for a, b in zip(start_alone, start_among, strict=True))
    gaps = [float((a[0] - b[7]).abs().max()) for a, b in zip(alone, among, strict=True)]
    moved = max(float((a - s).abs().max()) for a, s in zip(alone, start_alone, strict=True))
    assert moved > 0.1 and max(gaps) <= 1e-12


def test_different_seeds_differ():
    _, (W, *_) = trained([0, 1], steps=20)
    assert not torch.allclose(W[0], W[1], atol=1e-3)


def test_the_same_call_gives_the_same_bits():
    assert all(torch.equal(a, b) for a, b in zip(trained([3, 4])[1], trained([3, 4])[1], strict=True))


def test_students_that_do_not_fit_the_task_are_refused():
    net = teacher((8, 4, 3), seeds=[0])
    task = Task(net, Gaussian(8), seeds=[0], n_train=20, n_held_out=20)
    for widths, seeds, word in (
        ((8, 5, 3), [0, 1], "many lanes"),
        ((9, 5, 3), [0], "many inputs"),
        ((8, 5, 2), [0], "many outputs"),
    ):
        with pytest.raises(UserError, match=word):
            sgd(small_normal(widths, seeds), task, epochs=1)


@pytest.mark.parametrize(
    "options, word",
    [({"epochs": -1}, "epochs=-1"), ({"epochs": 1, "lr": -0.1}, "lr=-0.1"), ({"epochs": 1, "batch": 0}, "batch=0"),
     ({"epochs": 1, "lr": [0.1, 0.2]}, "2 learning rates"),
     ({"epochs": 1, "probes": [Probe((2,), lambda net: {})]}, "epoch 2")],
)  # fmt: skip
def test_impossible_training_is_refused(options, word):
    task = Task(teacher((8, 4, 3), seeds=[0]), Gaussian(8), seeds=[0], n_train=20, n_held_out=20)
    with pytest.raises(UserError, match=word):
        sgd(small_normal((8, 5, 3), [0]), task, **options)
