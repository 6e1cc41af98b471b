"""Groups and pruning: exact where possible, otherwise the change is reported and bounded."""

import pytest
import torch
from torch import nn

from relulab import MLP, UserError, torch_default
from relulab.subjects.specialization import Box, alignment, creases, lowest
from relulab.subjects.specialization.tools.groups import groups
from relulab.subjects.specialization.tools.pruning import prune


def points(n: int = 300, d: int = 4, seed: int = 1) -> torch.Tensor:
    return torch.randn(n, d, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def teacher(widths=(4, 5, 3)) -> MLP:
    return torch_default(widths, seeds=[0], dtype=torch.float64)


def redundant(noise: float = 0.0, slope: float = 0.0) -> MLP:
    """The teacher's nodes three times over at other scales, four pairs that cancel, and one node without weights."""
    g = torch.Generator().manual_seed(2)
    net = teacher()
    W, b, V, c = (p.data[0] for p in (net.W[0], net.b[0], net.W[1], net.b[1]))
    u, v = torch.randn(4, 4, generator=g).double(), torch.randn(4, 3, generator=g).double()
    scales = (1.0, 2.0, 0.5)
    parts_W = [*(W * s for s in scales), u, 3 * u, torch.zeros(4, 1).double()]
    parts_b = [*(b * s for s in scales), torch.zeros(1, 8).double(), torch.ones(1, 1).double()]
    parts_V = [*(V / s / 3 for s in scales), v, -v / 3, torch.ones(1, 3).double()]
    big = MLP((4, 24, 3), slope=slope, dtype=torch.float64)
    big.W[0].data[0], big.b[0].data[0] = torch.cat(parts_W, 1), torch.cat(parts_b, 1)
    big.W[0].data[0] += noise * torch.randn(4, 24, generator=g).double()
    big.W[1].data[0], big.b[1].data[0] = torch.cat(parts_V, 0), c - 1
    return big


def outputs(net: nn.Module, x: torch.Tensor) -> torch.Tensor:
    with torch.no_grad():
        y = net(x)
    return y[0] if y.dim() == 3 else y


def test_groups_contain_copies_and_sum_their_contributions():
    grouped = groups(redundant())
    assert sorted(grouped.sizes.tolist()) == [2] * 4 + [3] * 5 and grouped.of[-1] == -1
    for k in range(5):
        assert len({int(grouped.of[k + 5 * i]) for i in range(3)}) == 1
    V, W = teacher().W[1].data[0], teacher().W[0].data[0]
    for k in range(5):
        torch.testing.assert_close(grouped.a[grouped.of[k]], V[k] * W[:, k].norm())
    canceled = [int(grouped.of[15 + k]) for k in range(4)]
    assert float(grouped.a[canceled].abs().max()) < 1e-14


def test_copies_merge_and_canceling_groups_vanish_without_any_change():
    x, net = points(), redundant()
    small = prune(net, x, tolerance=1e-12, refit=False)
    assert small.net.widths == (4, 5, 3) and small.lost < 1e-28 and small.largest <= small.bound < 1e-11
    torch.testing.assert_close(outputs(small.net, points(seed=9)), outputs(teacher(), points(seed=9)))


def test_leaky_copies_merge_without_any_change():
    x, net = points(), redundant(slope=0.2)
    net.b[0].data[0, 0, -1] = -1.0  # a node without weights: the constant −0.2
    net.b[1].data += 1.2
    star = torch_default((4, 5, 3), seeds=[0], slope=0.2, dtype=torch.float64)
    small = prune(net, x, tolerance=1e-12, refit=False)
    assert small.net.widths == (4, 5, 3) and small.net.slope == 0.2
    assert small.lost < 1e-28 and small.largest <= small.bound < 1e-11
    torch.testing.assert_close(outputs(small.net, points(seed=9)), outputs(star, points(seed=9)))


@pytest.mark.parametrize("slope", [0.0, 0.3])
@pytest.mark.parametrize("pairs", [3, 7])
def test_of_opposite_nodes_only_the_linear_functions_can_be_spared(pairs, slope):
    """Pairs σ(z), σ(−z) are bends and linear functions z. Of more than d = 4 linear functions, the others depend on 4.

    With the constant, 4 linear functions are independent of the bends. So 7 pairs need 7 + 4 nodes, and 3 pairs all 6.
    """
    w, b = points(pairs, 4, seed=3), points(pairs, 1, seed=4)[:, 0] / 4
    net = MLP((4, 2 * pairs, 3), slope=slope, dtype=torch.float64)
    net.W[0].data[0], net.b[0].data[0, 0] = torch.cat([w, -w]).T, torch.cat([b, -b])
    net.W[1].data[0] = points(2 * pairs, 3, seed=5)
    count = pairs + min(pairs, 4)
    pruned = prune(net, points(), keep=count)
    assert len(pruned.groups) == 2 * pairs and pruned.lost < 1e-18
    torch.testing.assert_close(outputs(pruned.net, points(seed=9)), outputs(net, points(seed=9)), rtol=0, atol=1e-6)
    assert prune(net, points(), keep=count - 1).lost > 1e-6


def naive_refit(net: MLP, nodes: list[int], x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """Outputs of the least-squares fit of y by some hidden nodes and a constant."""
    f = (x @ net.W[0].data[0] + net.b[0].data[0]).clamp(min=0)[:, nodes]
    A = torch.cat([f, torch.ones(len(x), 1).double()], 1)
    return A @ torch.linalg.lstsq(A, y, driver="gelsd").solution


@pytest.mark.parametrize("refit", [False, True])
def test_the_sizes_cost_what_they_cost_alone(refit):
    x, test, net = points(), points(seed=8), redundant(noise=0.05)
    pruned = prune(net, x, epsilon=0.0, keep=3, refit=refit, test=test)
    y = outputs(net, test)
    variance = (y - y.mean(0)).square().sum()
    for count, lost, agree in pruned.sizes:
        again = prune(net, x, epsilon=0.0, keep=count, refit=refit, test=test)
        small = outputs(again.net, test)
        assert again.net.widths[1] == count
        assert lost == pytest.approx(float((small - y).square().sum() / variance), rel=1e-6, abs=1e-12)
        assert (again.lost, again.agree) == (pytest.approx(lost, rel=1e-9, abs=1e-15), agree)
        assert agree == float((small.argmax(1) == y.argmax(1)).double().mean())


def test_the_size_is_chosen_at_some_points_and_its_costs_are_measured_at_others():
    x, choose, test, net = points(), points(seed=7), 0.2 * points(seed=8), redundant(noise=0.05)
    there, here = (prune(net, x, epsilon=0.0, tolerance=0.02, test=part) for part in (choose, test))
    pruned = prune(net, x, epsilon=0.0, tolerance=0.02, choose=choose, test=test)
    assert pruned.kept == there.kept != here.kept and pruned.sizes == there.sizes
    again = prune(net, x, epsilon=0.0, keep=len(pruned.kept), test=test)
    assert (pruned.lost, pruned.largest) == (again.lost, again.largest) != (there.lost, there.largest)


def test_a_refit_is_the_least_squares_fit_and_drops_what_is_missed_least():
    """Every size and the whole order, against least squares for each candidate."""
    x, net = points(), torch_default((4, 8, 3), seeds=[3], dtype=torch.float64)
    y, left = outputs(net, x), list(range(8))
    while len(left) > 1:
        candidates = {j: float((naive_refit(net, [k for k in left if k != j], x, y) - y).square().sum()) for j in left}
        left.remove(min(candidates, key=lambda j: candidates[j]))
        pruned = prune(net, x, epsilon=0.0, keep=len(left))
        kept = [int((pruned.groups.of == s).nonzero()) for s in pruned.kept]
        assert sorted(kept) == left
        torch.testing.assert_close(outputs(pruned.net, x), naive_refit(net, left, x, y), rtol=1e-7, atol=1e-8)


@pytest.mark.parametrize("refit", [False, True])
def test_as_few_groups_as_possible_are_kept_within_the_tolerance(refit):
    x, net = points(), torch_default((4, 60, 3), seeds=[3], dtype=torch.float64)
    pruned = prune(net, x, tolerance=0.02, refit=refit)
    count = pruned.net.widths[1]
    assert pruned.lost <= 0.02 < prune(net, x, keep=count - 1, refit=refit).lost and 1 < count < 60


def test_the_default_finds_the_nodes_behind_a_noisy_redundant_network():
    """A refit decides before, not after, how many nodes to keep: five are enough, without one they are not."""
    x, net = points(2000), redundant(noise=0.003)
    pruned = prune(net, x)
    assert pruned.net.widths[1] == 5 and pruned.lost < 0.005 and pruned.agree > 0.97
    assert prune(net, x, refit=False).net.widths[1] > 8 and prune(net, x, keep=4).lost > 0.01


@pytest.mark.parametrize("refit", [False, True])
@pytest.mark.parametrize(("epsilon", "slope"), [(0.02, 0.0), (0.2, 0.0), (1.0, 0.0), (0.2, 0.5)])
def test_no_point_of_the_box_changes_by_more_than_the_bound(epsilon, slope, refit):
    x, net = points(), redundant(noise=0.05, slope=slope)
    pruned = prune(net, x, epsilon=epsilon, tolerance=0.01, refit=refit)
    low, high = x.amin(0), x.amax(0)
    inside = low + (high - low) * torch.rand(20_000, 4, generator=torch.Generator().manual_seed(5)).double()
    worst = float((outputs(pruned.net, inside) - outputs(net, inside)).abs().max())
    assert 0 < pruned.largest <= pruned.bound and worst <= pruned.bound


def test_groups_that_follow_the_teacher_are_kept_before_stronger_ones():
    x, net = points(), redundant()
    net.W[1].data[0, 15:19] *= 50  # loud, and of no use to the teacher
    follow = set(groups(net).of[:5].tolist())
    assert not set(prune(net, x, keep=4, refit=False).kept) <= follow
    for refit in (False, True):
        assert set(prune(net, x, keep=5, teacher=teacher(), refit=refit).kept) == follow


def test_a_refit_loses_less():
    x, net = points(), redundant(noise=0.3)
    plain, fitted = (prune(net, x, keep=6, refit=refit).lost for refit in (False, True))
    assert fitted < plain


def test_a_merge_at_a_tolerance_changes_the_output_in_proportion():
    x = points()
    changes = [
        prune(redundant(noise=size), x, epsilon=20 * size, keep=100, refit=False).largest for size in (1e-3, 1e-4, 1e-5)
    ]
    assert changes[0] / changes[1] == pytest.approx(10, rel=0.5) and changes[1] / changes[2] == pytest.approx(
        10, rel=0.5
    )


def with_nan(net):
    net.W[0].data[0, 0, 0] = torch.nan
    return net


@pytest.mark.parametrize("call, message", [
    (lambda x: prune(MLP((4, 3, 2)), x), "zero weights"),
    (lambda x: prune(teacher((4, 3, 3, 2)), x, teacher=teacher()), "two-layer"),
    (lambda x: prune(teacher(), x[:, :2]), "4 inputs"),
    (lambda x: prune(teacher(), x * torch.nan), "NaN"),
    (lambda x: prune(teacher(), x, keep=0), "at least 1"),
    (lambda x: prune(teacher(), x, epsilon=-1.0), "at least 0"),
    (lambda x: prune(teacher(), x, teacher=teacher((3, 5, 3))), "the teacher has 3 inputs"),
    (lambda x: prune(teacher(), x[:1].repeat(5, 1)), "the same on all points"),
    (lambda x: prune(with_nan(teacher()), x), "finite weights"),
    (lambda x: creases(teacher(), with_nan(teacher()), Box.of(x)), "finite weights"),
])  # fmt: skip
def test_wrong_arguments_raise_an_error(call, message):
    with pytest.raises(UserError, match=message):
        call(points())


def test_with_a_teacher_each_of_its_nodes_keeps_its_nearest_group():
    star, net, x = teacher(), redundant(noise=0.02), points()
    net.W[1].data[0, [3, 8, 13]] *= 0.01  # a node of the teacher that hardly counts any more
    alone, taught = (prune(net, x, epsilon=0.05, keep=5, teacher=t, refit=False) for t in (None, star))
    follows = [{int(s) for s in alignment(lowest(star), p.groups.nodes).argmin(1)} for p in (alone, taught)]
    assert set(taught.kept) == follows[1] and set(alone.kept) != follows[0]
