"""One battery for all instruments: what each claims of symmetry, dtype and lanes is tried on all of them alike."""

import pytest
import torch

import relulab
from relulab.lab.catalogue import instruments
from relulab.nets.initial import torch_default

M, N_STUDENTS, SAMPLES, LANES = 4, 6, 30, 3


def activations(dtype):
    generator = torch.Generator().manual_seed(0)
    f_star = torch.randn(LANES, SAMPLES, M, generator=generator, dtype=torch.float64).relu().to(dtype)
    f = torch.randn(LANES, SAMPLES, N_STUDENTS, generator=generator, dtype=torch.float64).relu().to(dtype)
    return f_star, f


def rho(dtype):
    return relulab.specialization.correlation(*activations(dtype))


def looks(dtype):
    """Correlations at five looks."""
    generator = torch.Generator().manual_seed(7)
    return torch.rand(LANES, 5, M, N_STUDENTS, generator=generator, dtype=torch.float64).to(dtype)


def net(dtype):
    return torch_default((5, N_STUDENTS, 3), seeds=range(LANES), dtype=dtype)


def points(dtype):
    return torch.linspace(-1, 1, SAMPLES * 5, dtype=torch.float64).reshape(SAMPLES, 5).sin().to(dtype)


def nodes(dtype, count=N_STUDENTS, lanes=LANES):
    """Weights and biases of hidden nodes, a node a row."""
    generator = torch.Generator().manual_seed(count)
    w = torch.randn(lanes, count, 5, generator=generator, dtype=torch.float64).to(dtype)
    b = torch.randn(lanes, count, 1, generator=generator, dtype=torch.float64).to(dtype)
    return relulab.specialization.Nodes(w, b.squeeze(-1))


def alone(dtype, count=N_STUDENTS):
    """The same of a single network, which some instruments take alone."""
    return relulab.specialization.Nodes(*(t[0] for t in nodes(dtype, count, 1)))


def directions(dtype):
    """Two vectors a lane."""
    generator = torch.Generator().manual_seed(3)
    return torch.randn(2, LANES, 2, 5, generator=generator, dtype=torch.float64).to(dtype).unbind()


def classes(dtype):
    """Points of two classes, each in a half space, with labels."""
    x, y = points(dtype), torch.arange(SAMPLES) % 2
    x[:, 0] = x[:, 0].abs() + 0.1
    return x * (2 * y - 1)[:, None].to(dtype), y


def V(dtype):
    return relulab.specialization.top_down(net(dtype), points(dtype))["1"]


def labels(dtype):
    return points(dtype)[:, 0].sign()


def units(dtype):
    """First- and second-layer weights with two lane axes, so that those of the second layer have more than two too."""
    generator = torch.Generator().manual_seed(3)
    W = torch.randn(LANES, 2, N_STUDENTS, 5, generator=generator, dtype=torch.float64).to(dtype)
    return W, torch.randn(LANES, 2, N_STUDENTS, generator=generator, dtype=torch.float64).to(dtype)


def pairs(dtype):
    """Two vectors for every student."""
    return nodes(dtype).w, nodes(dtype, N_STUDENTS + 1).w[:, 1:]


def transfer_sets(dtype):
    """Fewer points than dimensions, here in place of students, and a teacher."""
    generator = torch.Generator().manual_seed(5)
    X = torch.randn(LANES, N_STUDENTS, 9, generator=generator, dtype=torch.float64).to(dtype)
    return X, torch.linspace(-1, 2, 9, dtype=dtype)


# name: arguments with a leading lane axis where there is one, and the position of the student axis in each argument
CASES = {
    "correlation": (activations, (None, -1)),
    "best_match": (lambda t: (rho(t),), (-1,)),
    "rho_mean": (lambda t: (rho(t),), (-1,)),
    "recovered": (lambda t: (rho(t), 0.5), (-1, None)),
    "mean_rank": (lambda t: (rho(t), rho(t).flip(-1)), (-1, -1)),
    "fan_out": (lambda t: (net(t),), ()),
    "top_down": (lambda t: (net(t), points(t)), ()),
    "modulation": (lambda t: (V(t), V(t).flip(-1)[..., :M]), (-1, None)),
    "alignment": (lambda t: (nodes(t, M), nodes(t)), (None, (-2, -1))),
    "observers": (
        lambda t: (alone(t, M), alone(t), torch.full((5,), -1, dtype=t), torch.ones(5, dtype=t)),
        (None, (-2, -1), None, None),
    ),
    "band_counts": (lambda t: (alone(t), points(t), 0.5), ((-2, -1), None, None)),
    "kappa": (lambda t: (alone(t, M), alone(t), points(t), 0.5), (None, (-2, -1), None, None)),
    "recovered_at": (lambda t: (looks(t), 0.5), (-1, None)),
    "focus": (lambda t: (looks(t), 0.3), (-1, None)),
    "focus_shifts": (lambda t: (looks(t), 0.3), (-1, None)),
    "tau": (lambda t: (alone(t), points(t), 0.1, 1.0), ((-2, -1), None, None, None)),
    "eta": (lambda t: (points(t), 0.1), ()),
    "mu": (lambda t: (points(t),), ()),
    "sector_gain": (lambda t: (units(t)[0], points(t), labels(t)), (-2, None, None)),
    "sector": (lambda t: (units(t)[0], points(t)), (-2, None)),
    "extremal_sectors": (lambda t: (points(t), labels(t)), ()),
    "extremal_directions": (lambda t: (points(t)[:8], labels(t)[:8]), ()),
    "neuron_sectors": (lambda t: (*units(t), points(t), labels(t)), (-2, -1, None, None)),
    "limit_distance": (lambda t: (*units(t), *directions(t)), (-2, -1, None, None)),
    "separability": (lambda t: (points(t), torch.arange(SAMPLES) % 2), ()),
    "max_margin": (lambda t: classes(t), ()),
    "angle": (pairs, (-2, -2)),
    "signed_angle": (pairs, (-2, -2)),
    "spherical_risk": (pairs, (-2, -2)),
    "distilled": (transfer_sets, (-2, None)),
    "deep_limit": (
        lambda t: (*transfer_sets(t), torch.linspace(1e-3, 2e-3, 9, dtype=t), 2),
        (-2, None, None, None),
    ),
    "transfer_risk": (lambda t: (nodes(t).w, points(t)[0], points(t)), (-2, None, None)),
    "monotonicity": (lambda t: (*pairs(t), points(t)[0]), (-2, -2, None)),
}
LANELESS = {"observers", "band_counts", "kappa", "tau", "eta", "mu"}
LANELESS |= {"extremal_sectors", "extremal_directions", "separability", "max_margin"}
DOUBLE = {
    "max_margin",
    "distilled",
    "deep_limit",
    "transfer_risk",
}  # solutions of a theory's equations, exact in float64 only
# how the answer changes when students are permuted: not at all, or along these axes of each part of it
PERMUTED = {
    "correlation": [(-1,)], "best_match": [(), None], "rho_mean": [()], "recovered": [()], "mean_rank": [()],
    "modulation": [(-2,), (-2, -1)], "alignment": [(-1,)], "observers": [(-1,)],
    "limit_distance": [(-1,), (-1,), (-1,), (), (), ()], "band_counts": [(-1,)], "kappa": [(-1,)], "tau": [(-1,)],
    "recovered_at": [()], "focus": [(-1,)], "focus_shifts": [(-1,)],
    "sector_gain": [(-1,)], "sector": [(-2,)], "neuron_sectors": [(-1,), ()], "angle": [(-1,)],
    "signed_angle": [(-1,)], "spherical_risk": [(-1,)], "distilled": [(), ()], "deep_limit": [()] * 4,
    "transfer_risk": [(-1,), (-1,), (-1,)],
    "monotonicity": [()],
}  # fmt: skip


def parts(answer) -> list[torch.Tensor]:
    """The tensors and numbers of an answer, out of all tuples that they are in."""
    if isinstance(answer, dict):
        return list(answer.values())
    return [part for one in answer for part in parts(one)] if isinstance(answer, tuple) else [answer]


def call(name: str, arguments) -> list[torch.Tensor]:
    return parts(instruments()[name].function(*arguments))


def test_every_instrument_is_in_the_battery():
    assert set(CASES) == set(instruments())


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_dtype_in_is_dtype_out(name, dtype):
    answer = call(name, CASES[name][0](dtype))
    tensors = [a for a in answer if isinstance(a, torch.Tensor)]  # the rest are plain numbers
    expected = torch.float64 if name in DOUBLE else dtype
    assert all(not a.is_floating_point() or a.dtype == expected for a in tensors)
    assert all(torch.as_tensor(a).double().isfinite().all() for a in answer)


@pytest.mark.parametrize("name", sorted(set(CASES) - LANELESS))
def test_lanes_together_equal_lanes_alone(name):
    arguments = CASES[name][0](torch.float64)
    together = call(name, arguments)
    for i in range(LANES):
        alone = call(name, [_lane(a, i) for a in arguments])
        for t, a in zip(together, alone, strict=True):
            torch.testing.assert_close(t[i], a[0] if a.dim() == t.dim() else a, rtol=1e-12, atol=1e-12)


def _lane(argument, i: int):
    if isinstance(argument, relulab.MLP):
        return argument.lane(i)
    if isinstance(argument, relulab.specialization.Nodes):
        return relulab.specialization.Nodes(*(t[i : i + 1] for t in argument))
    if isinstance(argument, torch.Tensor) and (argument.dim() > 2 or len(argument) == LANES):
        return argument[i : i + 1]
    return argument


def _moved(argument, axis, order: torch.Tensor):
    if isinstance(axis, tuple):
        return type(argument)(*(t.index_select(a, order) for t, a in zip(argument, axis, strict=True)))
    return argument if axis is None else argument.index_select(axis, order)


@pytest.mark.parametrize("name", PERMUTED)
def test_students_may_be_permuted(name):
    make, axes = CASES[name]
    arguments = make(torch.float64)
    order = torch.tensor([3, 0, 5, 1, 4, 2])
    moved = [_moved(a, axis, order) for a, axis in zip(arguments, axes, strict=True)]
    for before, after, where in zip(call(name, arguments), call(name, moved), PERMUTED[name], strict=True):
        if where is None:  # an index: the same student under its new number
            assert torch.equal(order[after], before)
            continue
        for axis in where:
            before = before.index_select(axis, order)
        torch.testing.assert_close(after, before, rtol=1e-12, atol=1e-12)


def test_correlation_does_not_feel_positive_rescaling():
    f_star, f = activations(torch.float64)
    scale = torch.logspace(-3, 3, N_STUDENTS, dtype=torch.float64)
    torch.testing.assert_close(
        relulab.specialization.correlation(f_star, f * scale), relulab.specialization.correlation(f_star, f)
    )


def test_rescaling_a_unit_and_undoing_it_above_scales_top_down_alone():
    one = net(torch.float64)
    x, two = points(torch.float64), net(torch.float64)
    for W, b in ((two.W[0], two.b[0]),):
        W.data *= 4
        b.data *= 4
    two.W[1].data /= 4
    torch.testing.assert_close(two(x), one(x))
    torch.testing.assert_close(
        relulab.specialization.top_down(two, x)["1"] * 4, relulab.specialization.top_down(one, x)["1"]
    )
    torch.testing.assert_close(relulab.specialization.fan_out(two)["1"] * 4, relulab.specialization.fan_out(one)["1"])


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
