"""Gaps of assumption 1 against sums over index quadruples, and their standard errors against repeated samples."""

import itertools

import numpy as np
import pytest
import torch

import relulab as rl
from relulab import UserError
from relulab.subjects.specialization import expectation_gaps, top_down
from relulab.subjects.specialization.instruments.expectation_gaps import lane_gaps
from relulab.subjects.specialization.tools.group_gap import group_gap, groups_of
from relulab.subjects.specialization.tools.separable_pairs import open_pair


def networks(bias: bool = True) -> tuple[rl.MLP, rl.MLP]:
    nets = (rl.torch_default(w, [k], bias=bias, dtype=torch.float64) for k, w in ((7, (3, 2, 4, 2)), (0, (3, 3, 2, 2))))
    return tuple(nets)


def inputs(n: int, seed: int = 1) -> torch.Tensor:
    return torch.from_numpy(np.random.default_rng(seed).standard_normal((n, 3)))


def at_points(net: rl.MLP, x: torch.Tensor, l: int, bias: bool) -> tuple[np.ndarray, ...]:
    """Activations below layer l, gates and derivatives of layer l, at every point, with the bias unit if any."""
    f = [x, *(values[0] for values in net.layers(x)[:-1])]
    below, here, V = f[l - 1].detach(), f[l].detach(), top_down(net, x)[str(l)][0]
    if bias:
        one, parts = torch.ones(len(x), 1), list(net.module())
        below, here = torch.cat([below, one], 1), torch.cat([here, one], 1)
        shift = torch.stack([_shift(parts[2 * l :], z) for z in f[l].detach()])  # outputs that the biases above make
        V = torch.cat([V, shift.unsqueeze(-1)], 2)
    return below.numpy(), (here > 0).double().numpy(), V.numpy()


def _shift(upper: list, f: torch.Tensor) -> torch.Tensor:
    out = torch.nn.Sequential(*upper)
    return (out(f) - torch.autograd.functional.jacobian(out, f) @ f).detach()


def naive(star: rl.MLP, net: rl.MLP, x: torch.Tensor, l: int, bias: bool) -> tuple[np.ndarray, np.ndarray]:
    """Both sides of eq. 4 in layer l, for all index quadruples."""
    (f_k, d_j, V), (f_h, d_i, V_star) = (at_points(one, x, l, bias) for one in (net, star))
    nodes = net.widths[l]  # the bias unit of the student has no gradient
    shape = (nodes, V_star.shape[2], f_k.shape[1], f_h.shape[1])
    left, right = np.zeros((2, *shape))
    for j, i, k, h in itertools.product(*map(range, shape)):
        beta, gates, below = (V[:, :, j] * V_star[:, :, i]).sum(1), d_j[:, j] * d_i[:, i], f_k[:, k] * f_h[:, h]
        left[j, i, k, h], right[j, i, k, h] = (beta * gates * below).mean(), beta.mean() * gates.mean() * below.mean()
    return left, right


@pytest.mark.parametrize("bias", [True, False])
def test_entries_are_those_of_all_quadruples(bias):
    star, net = networks(bias)
    x = inputs(48)
    for l, gaps in enumerate(lane_gaps(star, net, 0, x, 10), 1):
        for gap, other in zip(gaps, (star, net), strict=True):
            sides = [naive(other, net, group, l, bias) for group in groups_of(x)]
            wanted = group_gap([tuple(map(torch.from_numpy, pair)) for pair in sides])
            assert gap.entries == pytest.approx(wanted, rel=1e-9)


def test_terms_are_the_contracted_quadruples():
    """The term of the velocity is the sum of the entries with the teacher's weights (LM eq. 15)."""
    star, net = networks(bias=False)
    x = inputs(48)
    for l in (1, 2):
        sides = []
        for group in groups_of(x):
            left, right = naive(star, net, group, l, False)
            W = star.W[l - 1].data[0].numpy()
            sides.append(tuple(torch.from_numpy(np.einsum("jikh,hi->kj", side, W)) for side in (left, right)))
        found = lane_gaps(star, net, 0, x, 10)[l - 1][0].term
        assert found == pytest.approx(group_gap(sides), rel=1e-9)


def test_the_instrument_shows_roots_and_names():
    star, net = networks()
    x = inputs(200)
    gaps, modules = expectation_gaps(star, net, x), expectation_gaps(star.module(), net.module(), x)
    assert list(gaps) == ["1", "2"] and list(modules) == ["1", "3"]
    pull, push = lane_gaps(star, net, 0, x, 6)[1]
    assert float(gaps["2"].push[0]) == float(modules["3"].push) == pytest.approx(push.term.squared**0.5)
    assert float(gaps["2"].pull_entries_error[0]) == pytest.approx(pull.entries.error / (2 * pull.entries.squared**0.5))


def test_nothing_is_off_where_expectations_separate():
    star, net, x = open_pair(np.random.default_rng(0), points=64)
    for pull, push in lane_gaps(star, net, 0, x, 10):
        for gap in (pull.term, pull.entries, push.term, push.entries):
            assert abs(gap.squared) < 1e-20


def test_errors_are_the_spread_over_samples():
    star, net = networks()
    found = [lane_gaps(star, net, 0, inputs(160, seed), 10) for seed in range(24)]
    for l, which, part in itertools.product((0, 1), (0, 1), ("term", "entries")):
        gaps = [getattr(one[l][which], part) for one in found]
        spread = np.std([gap.squared for gap in gaps], ddof=1)
        typical = np.median([gap.error for gap in gaps])
        assert 0.5 < typical / spread < 2


def test_estimates_do_not_grow_for_small_samples():
    """A plain squared norm would contain the sampling error of few points; the mean over samples does not."""
    star, net = networks()
    many = lane_gaps(star, net, 0, inputs(16_000), 10)[0][1].entries.squared
    few = [lane_gaps(star, net, 0, inputs(160, seed), 10)[0][1].entries.squared for seed in range(40)]
    assert abs(np.mean(few) - many) < 4 * np.std(few) / 40**0.5


def test_bad_arguments_are_named():
    star, net = networks()
    with pytest.raises(UserError, match="at least 16 points for a standard error, got 15"):
        expectation_gaps(star, net, inputs(15))
    with pytest.raises(UserError, match="same inputs, outputs and number of layers"):
        expectation_gaps(star, rl.torch_default((3, 4, 2), [0]), inputs(30))
