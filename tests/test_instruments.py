"""One battery for all instruments: what each claims of symmetry, dtype and lanes is tried on all of them alike."""

import pytest
import torch
from battery import LANES, SAMPLES, STUDENTS, call, cases, classes, drawn, missing, net, points

import relulab
from relulab.lab.catalog import instruments

PERMUTED = sorted(name for name, case in cases().items() if case.permuted is not None)
LANED = sorted(name for name, case in cases().items() if case.lanes)


def test_every_instrument_brings_its_case():
    assert not missing(), missing()


def test_a_case_that_is_missing_is_named(monkeypatch):
    one = instruments()["alignment"]
    monkeypatch.setattr("battery.instruments", lambda: {**dict.fromkeys(cases(), one), "polarity": one})
    assert missing().startswith("the instrument polarity has no case: add it to CASES in tests/subjects/")


@pytest.mark.parametrize("name", sorted(cases()))
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_dtype_in_is_dtype_out(name, dtype):
    answer = call(name, cases()[name].arguments(dtype))
    tensors = [a for a in answer if isinstance(a, torch.Tensor)]  # the rest are plain numbers
    expected = torch.float64 if cases()[name].double else dtype
    assert all(not a.is_floating_point() or a.dtype == expected for a in tensors)
    assert all(torch.as_tensor(a).double().isfinite().all() for a in answer)


@pytest.mark.parametrize("name", LANED)
def test_lanes_together_equal_lanes_alone(name):
    arguments = cases()[name].arguments(torch.float64)
    together = call(name, arguments)
    for i in range(LANES):
        alone = call(name, [_lane(a, i) for a in arguments])
        for t, a in zip(together, alone, strict=True):
            torch.testing.assert_close(t[i], a[0] if a.dim() == t.dim() else a, rtol=1e-12, atol=1e-12)


def _lane(argument, i: int):
    if isinstance(argument, relulab.MLP):
        return argument.lane(i)
    if isinstance(argument, tuple):
        return type(argument)(*(t[i : i + 1] for t in argument))
    if isinstance(argument, torch.Tensor) and (argument.dim() > 2 or len(argument) == LANES):
        return argument[i : i + 1]
    return argument


def _moved(argument, axis, order: torch.Tensor):
    if isinstance(axis, tuple):
        return type(argument)(*(t.index_select(a, order) for t, a in zip(argument, axis, strict=True)))
    return argument if axis is None else argument.index_select(axis, order)


@pytest.mark.parametrize("name", PERMUTED)
def test_students_may_be_permuted(name):
    case = cases()[name]
    arguments = case.arguments(torch.float64)
    order = torch.tensor([3, 0, 5, 1, 4, 2])
    assert len(order) == STUDENTS
    moved = [_moved(a, axis, order) for a, axis in zip(arguments, case.students, strict=True)]
    for before, after, where in zip(call(name, arguments), call(name, moved), case.permuted, strict=True):
        if where is None:  # an index: the same student under its new number
            assert torch.equal(order[after], before)
            continue
        for axis in where:
            before = before.index_select(axis, order)
        torch.testing.assert_close(after, before, rtol=1e-12, atol=1e-12)


def test_correlation_does_not_feel_positive_rescaling():
    f_star, f = (
        drawn(0, LANES, SAMPLES, 4, dtype=torch.float64).relu(),
        drawn(1, LANES, SAMPLES, 6, dtype=torch.float64),
    )
    scale = torch.logspace(-3, 3, 6, dtype=torch.float64)
    correlation = relulab.specialization.correlation
    torch.testing.assert_close(correlation(f_star, f.relu() * scale), correlation(f_star, f.relu()))


def test_rescaling_a_unit_and_undoing_it_above_scales_top_down_alone():
    one, two, x = net(torch.float64), net(torch.float64), points(torch.float64)
    two.W[0].data *= 4
    two.b[0].data *= 4
    two.W[1].data /= 4
    torch.testing.assert_close(two(x), one(x))
    for measure in (lambda net: relulab.specialization.top_down(net, x), relulab.specialization.fan_out):
        torch.testing.assert_close(measure(two)["1"] * 4, measure(one)["1"])


@pytest.mark.parametrize("name", ["separability", "max_margin"])
def test_points_may_be_permuted(name):
    x, y = classes(torch.float64)
    order = torch.randperm(SAMPLES, generator=torch.Generator().manual_seed(1))
    before, after = (instruments()[name].function(*arguments) for arguments in ((x, y), (x[order], y[order])))
    if name == "separability":
        assert (before.equal[:2], before.different[:2]) == (after.equal[:2], after.different[:2])
        return
    for a, b in zip(before, after, strict=True):
        torch.testing.assert_close(b.w, a.w)
        torch.testing.assert_close(b.multipliers, a.multipliers[order])
        assert set(order[b.supports].tolist()) == set(a.supports.tolist())
