"""Training all lanes at once, compared with a plain PyTorch loop for each lane."""

import itertools

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import nn

import relulab

SEEDS = [5, 0, 5]  # two lanes share their inputs and batches, and the first stream is not the smallest seed
POLARITY = [0.0, 0.5, 1.0]
STUDENT = {1: (5, 3), 2: (5, 8, 3), 3: (5, 8, 6, 3), 4: (5, 8, 7, 6, 3)}
EPOCHS, STEPS, BATCH, LR = 4, 50, 8, 0.05


def half_squares(out, y):
    return 0.5 * ((out - y) ** 2).sum(1).mean()


def hard_entropy(out, y):
    return F.cross_entropy(out, y.argmax(1))


def soft_entropy(out, y):
    return F.cross_entropy(out, y.softmax(1))


class Positive(relulab.Gaussian):
    def draw(self, rng, n):
        return np.abs(super().draw(rng, n))


class Origin(relulab.Gaussian):
    def draw(self, rng, n):
        return np.zeros((n, self.d))


def make_task(
    fresh: bool = False, seeds=SEEDS, polarity=POLARITY, outputs: int = 3, inputs=None, **options
) -> relulab.Task:
    teacher = relulab.specialization.teacher((5, 4, outputs), seeds=seeds, polarity=polarity)
    options = {"n_train": 60, "n_held_out": 10, "dtype": torch.float64, **options}
    return relulab.Task(teacher, inputs or relulab.Gaussian(5), seeds=seeds, fresh=fresh, **options)


def make_student(depth: int = 2, seeds=SEEDS, dtype=torch.float64, **options) -> relulab.MLP:
    return relulab.torch_default(STUDENT[depth], seeds, dtype=dtype, **options)


def train_naively(
    student: relulab.MLP, task: relulab.Task, lane: int, *, loss=half_squares, lr=LR, epochs=EPOCHS, batch=BATCH
) -> nn.Sequential:
    module = student.module(lane)
    optimizer = torch.optim.SGD(module.parameters(), lr=lr)
    stream = task.streams.index(task.seeds[lane])
    for epoch in range(epochs):
        points = task.train(epoch)
        x, y = points.X[stream], points.Y[lane]
        for index in task.batches(epoch, STEPS, batch)[stream]:
            optimizer.zero_grad()
            loss(module(x[index]), y[index]).backward()
            optimizer.step()
    return module


@torch.no_grad()
def largest_difference(module: nn.Sequential, net: relulab.MLP, lane: int) -> float:
    linears = [m for m in module if isinstance(m, nn.Linear)]
    assert len(linears) == net.depth
    gaps = [(m.weight.T - W[lane]).abs().max() for m, W in zip(linears, net.W, strict=True)]
    for m, b in zip(linears, net.b, strict=True):
        expected = torch.zeros_like(b[lane, 0]) if m.bias is None else m.bias
        gaps.append((expected - b[lane, 0]).abs().max())
    return float(max(gaps))


def check_against_loop(student, task, *, naive_loss=half_squares, loss=None, lr=LR, batch=BATCH, within=1e-10):
    starts = [student.module(i) for i in range(student.lanes)]
    rates = lr if isinstance(lr, list) else [lr] * student.lanes
    naive = [train_naively(student, task, i, loss=naive_loss, lr=rates[i], batch=batch) for i in range(student.lanes)]
    relulab.sgd(student, task, epochs=EPOCHS, steps=STEPS, batch=batch, lr=lr, loss=loss)
    for i in range(student.lanes):
        assert largest_difference(naive[i], student, i) < within
        assert largest_difference(starts[i], student, i) > 1e-2, "nothing was learned: the comparison says nothing"


CASES = list(itertools.product([2, 4], [0.0, 0.1], [True, False], [False, True]))


@pytest.mark.parametrize(("depth", "slope", "bias", "fresh"), CASES)
def test_squares(depth, slope, bias, fresh):
    check_against_loop(make_student(depth, slope=slope, bias=bias), make_task(fresh))


def without_biases_yet(widths, slope: float) -> relulab.MLP:
    student = relulab.torch_default(widths, SEEDS, slope=slope, dtype=torch.float64)
    for b in student.b:
        b.data.zero_()
    return student


@torch.no_grad()
def sits_at_kink(student: relulab.MLP, task: relulab.Task) -> bool:
    """All units put out zero at the start, on all points."""
    return not any(f.any() for f in student.layers(task.train().X[task.group])[:-1])


@pytest.mark.parametrize("slope", [0.0, 0.1])
def test_units_at_their_kink_at_the_origin(slope):
    """At z = 0 the derivative is a convention, and torch takes ``slope``: with 0, no hidden bias may move."""
    student, task = without_biases_yet((5, 4, 6, 3), slope), make_task(inputs=Origin(5))
    assert sits_at_kink(student, task)
    check_against_loop(student, task)


def test_units_at_their_kink_above_a_silent_layer():
    student, task = without_biases_yet((5, 2, 6, 3), 0.0), make_task(inputs=Positive(5))
    student.W[0].data = -student.W[0].data.abs()
    assert sits_at_kink(student, task)
    check_against_loop(student, task)


@pytest.mark.parametrize("depth", [1, 3])
def test_squares_in_other_depths(depth):
    check_against_loop(make_student(depth), make_task())


def test_squares_named_are_the_default():
    check_against_loop(make_student(), make_task(), loss=relulab.MSE())


@pytest.mark.parametrize("fresh", [False, True])
@pytest.mark.parametrize("slope", [0.0, 0.1])
@pytest.mark.parametrize("depth", [2, 4])
def test_entropy_of_the_teachers_class(depth, slope, fresh):
    student, task = make_student(depth, slope=slope), make_task(fresh)
    check_against_loop(student, task, naive_loss=hard_entropy, loss=relulab.CrossEntropy(), lr=0.2)


@pytest.mark.parametrize("fresh", [False, True])
@pytest.mark.parametrize("slope", [0.0, 0.1])
@pytest.mark.parametrize("depth", [2, 4])
def test_entropy_of_the_teachers_softmax(depth, slope, fresh):
    student, task = make_student(depth, slope=slope), make_task(fresh)
    check_against_loop(student, task, naive_loss=soft_entropy, loss=relulab.CrossEntropy(soft=True), lr=0.2)


def test_batch_of_one():
    check_against_loop(make_student(), make_task(), batch=1, lr=0.01)


def test_single_output():
    student = relulab.torch_default((5, 8, 1), SEEDS, dtype=torch.float64)
    check_against_loop(student, make_task(outputs=1))


def test_float32_follows_float64():
    student, task = make_student(dtype=torch.float32), make_task(dtype=torch.float32)
    check_against_loop(student, task, within=1e-4)


def test_each_lane_has_its_learning_rate():
    check_against_loop(make_student(), make_task(), lr=[0.01, 0.05, 0.1])


@pytest.mark.parametrize("depth", [2, 4])
def test_learning_rates_by_lane_equal_separate_runs(depth):
    rates = [0.01, 0.05, 0.1]
    together = make_student(depth)
    relulab.sgd(together, make_task(), epochs=EPOCHS, steps=STEPS, batch=BATCH, lr=rates)
    for i, (seed, p, lr) in enumerate(zip(SEEDS, POLARITY, rates, strict=True)):
        alone = make_student(depth, seeds=[seed])
        relulab.sgd(alone, make_task(seeds=[seed], polarity=p), epochs=EPOCHS, steps=STEPS, batch=BATCH, lr=lr)
        assert largest_difference(alone.module(0), together, i) < 1e-12


def sums(net: relulab.MLP) -> torch.Tensor:
    return net.W[0].data.sum((1, 2))


def by_lane(net: relulab.MLP):
    return {"w": (("lane",), sums(net))}


def test_probe_records_at_its_epochs():
    student, task = make_student(), make_task(fresh=True)
    start = sums(student).numpy().copy()
    naive = [train_naively(student, task, i, epochs=2) for i in range(3)]
    read = relulab.sgd(
        student, task, epochs=3, steps=STEPS, batch=BATCH, lr=LR, probes=[relulab.Probe((0, 2), by_lane)]
    )
    assert read["epoch"].values.tolist() == [0, 2]
    assert read["w"].dims == ("epoch", "lane")
    assert read["w"].sel(epoch=0).values.tolist() == start.tolist()
    after_two = [float(module[0].weight.data.sum()) for module in naive]
    np.testing.assert_allclose(read["w"].sel(epoch=2).values, after_two, atol=1e-10, rtol=0)
    # The third epoch went on.
    assert np.abs(sums(student).numpy() - after_two).min() > 1e-6


def test_probe_at_the_last_epoch_sees_the_trained_student():
    student = make_student()
    probe = relulab.Probe(epochs=(3,), measure=by_lane)
    read = relulab.sgd(student, make_task(), epochs=3, steps=STEPS, batch=BATCH, lr=LR, probes=[probe])
    assert read["epoch"].values.tolist() == [3]
    assert read["w"].values[0].tolist() == sums(student).tolist()


def test_recorded_values_do_not_change_in_later_steps():
    """A measurement may return a view of the weights, which change later."""
    student = make_student()
    start = student.W[0].data.clone().numpy()
    probe = relulab.Probe(epochs=(0, 1), measure=lambda net: {"W": (("lane", "d", "n"), net.W[0].data)})
    read = relulab.sgd(student, make_task(), epochs=2, steps=STEPS, batch=BATCH, lr=LR, probes=[probe])
    np.testing.assert_array_equal(read["W"].sel(epoch=0).values, start)
    assert np.abs(read["W"].sel(epoch=1).values - student.W[0].detach().numpy()).max() > 1e-6


def test_probes_do_not_disturb_training():
    watched, alone = make_student(4), make_student(4)
    probes = [relulab.Probe((0, 1, 2, 3), by_lane), relulab.Probe((2,), lambda net: {"v": (("lane",), sums(net))})]
    read = relulab.sgd(watched, make_task(), epochs=3, steps=STEPS, batch=BATCH, lr=LR, probes=probes)
    relulab.sgd(alone, make_task(), epochs=3, steps=STEPS, batch=BATCH, lr=LR)
    assert all(torch.equal(p, q) for p, q in zip(watched.parameters(), alone.parameters(), strict=True))
    assert read["v"].dropna("epoch").epoch.values.tolist() == [2]
    assert read["v"].sel(epoch=2).values.tolist() == read["w"].sel(epoch=2).values.tolist()


def test_tick_counts_seed_steps():
    ticks = []
    relulab.sgd(make_student(), make_task(), epochs=3, steps=STEPS, batch=BATCH, lr=LR, tick=ticks.append)
    assert sum(ticks) == 3 * STEPS * len(SEEDS)
    assert len(ticks) == 3
