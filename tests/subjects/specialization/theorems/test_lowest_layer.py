"""SS.T5: α_kj and Q beside naive twins, gates near points that are far from all boundaries, and no wrong verdicts."""

import itertools
import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import relulab as rl
from relulab import Verdict
from relulab.subjects.specialization import Nodes, lowest, regular
from relulab.subjects.specialization.tools.deep_pairs import bent_above, deep_shifted_students, points_near
from relulab.subjects.specialization.tools.lowest_gradient import lowest_alpha, lowest_gradient
from relulab.subjects.specialization.tools.observed_points import ObservedPoints
from relulab.subjects.specialization.tools.shifted_students import shifted_students
from relulab.subjects.specialization.tools.upper_boundaries import upper_boundaries

lowest_layer = rl.specialization.lowest_layer


def draw(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def network(widths: tuple[int, ...], seed: int, slope: float = 0.0) -> rl.MLP:
    net = rl.torch_default(widths, seeds=[seed], slope=slope, dtype=torch.float64)
    net.W[0].data[:] = regular(lowest(net)).w.T
    return net


def exact_student(star: rl.MLP, factors: tuple[float, ...] = (2.0, 0.5)) -> rl.MLP:
    """A student with the teacher's function: nodes of all hidden layers split in two, rescaled, and a silent unit."""
    share, hidden = 1 / len(factors), [width * len(factors) + 1 for width in star.widths[1:-1]]
    net = rl.MLP((star.widths[0], *hidden, star.widths[-1]), slope=star.slope, dtype=torch.float64)
    for l in range(star.depth):
        W, b = star.W[l].data[0], star.b[l].data[0, 0]
        if l:
            W = torch.cat([share / f * W for f in factors])
            W = torch.cat([W, torch.zeros(1, W.shape[1], dtype=W.dtype)])
        if l < star.depth - 1:
            W, b = torch.cat([f * W for f in factors], 1), torch.cat([f * b for f in factors])
            W = torch.cat([W, draw(len(W), 1, seed=l) / 2], 1)
            b = torch.cat([b, b.new_tensor([0.2])])
        net.W[l].data[0], net.b[l].data[0, 0] = W, b
    return net


# naive twins


def pre_activations(net: rl.MLP, x: torch.Tensor, node: int | None = None, side: bool = True) -> list[torch.Tensor]:
    """Pre-activations of all units above the lowest layer, one after the other; a lowest node may be held on a side."""
    z, found = x @ net.W[0].data[0] + net.b[0].data[0, 0], []
    f = torch.nn.functional.leaky_relu(z, net.slope)
    if node is not None:
        held = z[node] if side else net.slope * z[node]
        f = torch.cat([f[:node], held[None], f[node + 1 :]])
    for l in range(1, net.depth - 1):
        z = f @ net.W[l].data[0] + net.b[l].data[0, 0]
        found += list(z)
        f = torch.nn.functional.leaky_relu(z, net.slope)
    return found


def naive_planes(net: rl.MLP, x: torch.Tensor, reach: float, node: int | None = None) -> set[tuple[float, ...]]:
    """The hyperplanes of upper units within reach of a point, by automatic differentiation, point by point."""
    found = set()
    for point in x:
        for side in (True, False) if node is not None else (True,):
            at = point.clone().requires_grad_()
            for z in pre_activations(net, at, node, side):
                if not z.requires_grad:
                    continue
                (a,) = torch.autograd.grad(z, at, retain_graph=True)
                if a.norm() > 1e-12 and abs(float(z.detach())) <= reach * float(a.norm()):
                    plane = torch.cat([a, (z - a @ point).detach()[None]]) / a.norm()
                    first = plane[plane.abs() > 1e-9][0]
                    found.add(tuple(round(float(v), 7) + 0.0 for v in plane * first.sign()))
    return found


@pytest.mark.parametrize(("widths", "slope"), [((2, 3, 3, 2), 0.0), ((3, 4, 2, 3, 2), 0.1), ((2, 3, 2), 0.0)])
def test_alpha_by_automatic_differentiation(widths, slope):
    star, net = network(widths, 1, slope), network((widths[0], *[5] * (len(widths) - 2), widths[-1]), 2, slope)
    x = draw(40, widths[0], seed=3)

    def V(one: rl.MLP, point: torch.Tensor) -> torch.Tensor:
        f = one.layers(point[None])[0][0, 0].detach().requires_grad_()
        above = f
        for l in range(1, one.depth):
            above = above @ one.W[l][0] + one.b[l][0, 0]
            above = torch.nn.functional.leaky_relu(above, one.slope) if l < one.depth - 1 else above
        return torch.stack([torch.autograd.grad(y, f, retain_graph=True)[0] for y in above])

    slow = torch.stack([(V(net, point).T @ V(star, point)).abs() for point in x])
    for j in range(widths[1]):
        torch.testing.assert_close(lowest_alpha(star, net, x, j), slow[..., j], atol=1e-13, rtol=1e-10)


@pytest.mark.parametrize("depths", [(2, 2), (3, 3), (4, 4), (2, 4)])
def test_the_gradient_by_automatic_differentiation(depths):
    star, net = (network((3, *[4] * (depth - 1), 2), depth + i) for i, depth in enumerate(depths))
    x = draw(50, 3, seed=5)
    z = (x @ net.W[0].data[0] + net.b[0].data[0, 0]).requires_grad_()
    f = torch.relu(z)
    for l in range(1, net.depth):
        f = f @ net.W[l].data[0] + net.b[l].data[0, 0]
        f = torch.relu(f) if l < net.depth - 1 else f
    loss = 0.5 * (star(x)[0].detach() - f).square().sum()
    (slow,) = torch.autograd.grad(loss, z)
    g, allowance = lowest_gradient(star, net, x)
    assert ((g + slow).abs() <= allowance).all() and float(allowance.max()) < 1e-10
    assert float(g.abs().max()) > 1e-3


@pytest.mark.parametrize(("widths", "slope", "reach"), [
    ((2, 3, 3, 2), 0.0, 0.1), ((2, 3, 3, 2), 0.1, 0.5), ((3, 3, 4, 3, 2), 0.0, 0.2), ((2, 4, 3, 3, 1), 0.1, 0.05),
])  # fmt: skip
def test_boundaries_by_automatic_differentiation_at_every_point(widths, slope, reach):
    star, net = network(widths, 3, slope), network((widths[0], *[5] * (len(widths) - 2), widths[-1]), 4, slope)
    w, b = regular(lowest(star))
    x = draw(150, widths[0], seed=6)
    x = x - 0.98 * (x @ w[0] + b[0])[:, None] * w[0]
    observed = ObservedPoints(star, net, x, (w[0], float(b[0])), 0, 0.5, everywhere=True)
    inside = ((x @ w[0] + b[0]).abs() <= 0.3) & (x @ net.W[0].data[0, :, 1] + net.b[0].data[0, 0, 1] > 0)
    found, sizes = 0, []
    for chosen in observed.sets(inside, 1, reach, 0):
        used = x[chosen.inside]
        slow = naive_planes(star, used, reach, 0) | naive_planes(net, used, reach)
        assert len(chosen.planes.b) == len(slow)
        found, sizes = found + len(slow), [*sizes, len(used)]
    assert found and sizes == sorted(sizes, reverse=True)


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10**6), depth=st.integers(2, 4), slope=st.sampled_from([0.0, 0.1]))
def test_gates_do_not_change_near_points_that_are_far_from_all_boundaries(seed, depth, slope):
    """What the proof needs: in the ball of radius γε', only node j of the lowest layer may change its gate."""
    d, width = 2 + seed % 2, 0.01
    star = network((d, *[4] * depth, 2), seed, slope)
    w, b = regular(lowest(star))
    x = draw(300, d, seed=seed)
    x = x - (x @ w[0] + b[0] + width * draw(300, seed=seed + 1).clamp(-1, 1))[:, None] * w[0]
    reach = 2 * math.sqrt(d) * width
    upper = upper_boundaries(star, x, 0)
    far = (upper.distance > reach).all(1) & ((x @ w[1:].T + b[1:]).abs() > reach).all(1)
    e = draw(300, 20, d, seed=seed + 2)
    ball = x[:, None] + reach * e / e.norm(dim=-1, keepdim=True) * torch.rand(300, 20, 1, dtype=torch.float64)

    def pattern(points: torch.Tensor) -> torch.Tensor:
        gates = torch.cat([f[0] > 0 for f in star.layers(points.reshape(-1, d))[:-1]], 1)
        return gates.reshape(300, -1, gates.shape[1])[..., 1:]

    assert (pattern(ball) == pattern(x[:, None]))[far].all()


# verdicts


def test_two_layers_give_theorem_3():
    for shift, n in ((1e-4, 5000), (0.1, 5000), (1e-4, 300)):
        star, net, _ = shifted_students(shift, 1)
        problem = star, net, points_near(star, n)
        for node in (0, 1):
            deep, two = (f(*problem, 0.5, node=node) for f in (lowest_layer, rl.specialization.polynomial_samples))
            assert deep.verdict is two.verdict
            for a, b in zip((*deep.conditions, *deep.conclusion), (*two.conditions, *two.conclusion), strict=True):
                assert (a.says, a.bound) == (b.says, pytest.approx(b.bound))
                assert a.measured == pytest.approx(b.measured, nan_ok=True)


def test_the_theorem_holds_for_a_student_split_in_every_layer():
    star, _, _ = deep_shifted_students(0.0, 1)
    net, x = exact_student(star), points_near(star, 12_000)
    torch.testing.assert_close(net(x), star(x), atol=1e-14, rtol=0)
    finding = lowest_layer(star, net, x, 0.5)
    assert finding.verdict is Verdict.HOLDS
    assert len(finding.conclusion) == 2  # both teacher nodes
    assert max(c.measured for c in finding.conclusion) < 1e-15


def test_networks_of_different_depth():
    two, _, _ = shifted_students(0.0, 1)
    deep = rl.MLP((2, 2, 2, 2), dtype=torch.float64)  # its second layer passes everything on
    deep.W[0].data, deep.b[0].data = two.W[0].data, two.b[0].data
    deep.W[1].data[0], deep.b[1].data[0, 0] = torch.eye(2), 3.0
    deep.W[2].data, deep.b[2].data = two.W[1].data, two.b[1].data - 3 * two.W[1].data.sum(1, keepdim=True)
    x = points_near(two, 6000)
    findings = [lowest_layer(*nets, x, 0.5, node=0) for nets in ((two, deep), (deep, two), (two, two))]
    assert [f.verdict for f in findings] == [Verdict.HOLDS] * 3
    assert len({f.conditions[1].bound for f in findings}) == 1  # no further boundaries, so that Q = K


def test_a_student_on_the_other_side_counts():
    """σ(z) = σ(−z) + z, and in the square z = σ(z + 4) − 4, so the second layer can undo the flip."""
    star, _, x = deep_shifted_students(0.0, 12_000)
    net = rl.MLP((2, 3, 2, 2), dtype=torch.float64)
    w, b = lowest(star)
    net.W[0].data[0] = torch.stack([-w[0], w[0], w[1]], 1)
    net.b[0].data[0, 0] = torch.stack([-b[0], b[0] + 4, b[1]])
    net.W[1].data[0] = star.W[1].data[0][[0, 0, 1]]
    net.b[1].data[0, 0] = star.b[1].data[0, 0] - 4 * star.W[1].data[0, 0]
    net.W[2].data, net.b[2].data = star.W[2].data, star.b[2].data
    torch.testing.assert_close(net(x), star(x), atol=1e-14, rtol=0)
    assert lowest_layer(star, net, x, 0.5, node=0).verdict is Verdict.HOLDS


def test_the_printed_theorem_is_false():
    star, net, x = bent_above()
    torch.testing.assert_close(net(x), star(x), atol=1e-14, rtol=0)
    assert lowest_layer(star, net, x, 0.5, node=0, everywhere=True).verdict is Verdict.REFUTED
    finding = lowest_layer(star, net, x, 0.5, node=0)
    assert finding.verdict is Verdict.NOT_APPLICABLE and not finding.conclusion
    assert "are beside a boundary of an upper layer" in finding.conditions[-1].detail
    assert lowest_layer(star, net, x, 0.5, node=2).verdict is Verdict.HOLDS  # σ(x₂) has its student


def test_a_student_whose_upper_layers_are_closed_observes_nothing():
    star, net, x = deep_shifted_students(0.0)
    net.b[1].data.fill_(-50.0)
    finding = lowest_layer(star, net, x, 0.5, node=0)
    assert finding.verdict is Verdict.NOT_APPLICABLE and finding.conditions[0].holds is False


def test_regions_where_the_upper_layers_are_closed_are_left_out():
    """Above x₂ = 0.5, both networks are constant. As printed, min α_kj = 0; here the other regions suffice."""
    star, net, x = deep_shifted_students(1e-4, 12_000)
    for one in (star, net):
        one.W[1].data[0] = torch.tensor([[0.2, 0.2], [-1.0, -1.0]]).double().repeat(one.widths[1] // 2, 1) * (
            2 / one.widths[1]
        )
        one.b[1].data[0, 0] = 0.75
    closed = (x[:, 1] > 0.75) & (x[:, 0] <= 0)
    assert closed.any() and not lowest_alpha(star, net, x[closed], 0).any()
    finding = lowest_layer(star, net, x, 0.5, node=0)
    assert finding.verdict is Verdict.HOLDS and finding.conditions[0].measured > 0.1


@settings(max_examples=5, deadline=None)
@given(shift=st.sampled_from([0.0, 1e-4, 1e-2, 0.3]), noise=st.sampled_from([0.0, 1e-5, 1e-3, 0.1]),
       epsilon=st.sampled_from([0.05, 0.3, 0.9]), slope=st.sampled_from([0.0, 0.1]),
       seed=st.integers(0, 10**6))  # fmt: skip
def test_small_gradients_never_leave_a_lowest_node_unaligned(shift, noise, epsilon, slope, seed):
    star, net, x = deep_shifted_students(shift, 2000, slope)
    for l, p in enumerate(net.parameters()):
        p.data += noise * draw(*p.shape, seed=seed + l)
    assert lowest_layer(star, net, x, epsilon).verdict is not Verdict.REFUTED


@settings(max_examples=5, deadline=None)
@given(seed=st.integers(0, 10**6), off=st.sampled_from([0.0, 1e-7, 1e-3]), epsilon=st.sampled_from([0.1, 0.5, 0.9]))
def test_random_deep_teachers_with_split_students_are_never_refuted(seed, off, epsilon):
    star = network((2, 2, 2, 2, 2), seed)
    net = exact_student(star)
    net.W[0].data += off * draw(*net.W[0].shape, seed=seed)
    assert lowest_layer(star, net, points_near(star, 2000), epsilon).verdict is not Verdict.REFUTED


def test_the_order_of_points_and_units_does_not_matter():
    star, net, x = deep_shifted_students(1e-4, 4000)
    finding = lowest_layer(star, net, x, 0.5, node=0)
    other = exact_student(net, (4.0,))  # rescaled units and a silent one in every layer
    order = torch.randperm(len(x), generator=torch.Generator().manual_seed(1))
    for same in (x[order], x.repeat(2, 1)):
        assert lowest_layer(star, net, same, 0.5, node=0).to_dict() == finding.to_dict()
    for student, same in ((net, x.float().double()), (other, x)):
        assert lowest_layer(star, student, same, 0.5, node=0).verdict is finding.verdict is Verdict.HOLDS


def test_boundaries_of_equal_units_count_once():
    star = network((2, 3, 2, 2), 0)
    twice = exact_student(star)
    w, b = Nodes(*regular(lowest(star)))
    x = draw(400, 2, seed=1)
    x = x - 0.9 * (x @ w[0] + b[0])[:, None] * w[0]
    every = torch.ones(400, dtype=torch.bool)
    single, double = (upper_boundaries(net, x) for net in (star, twice))
    lone = upper_boundaries(twice, x).planes  # the silent unit of the second layer adds its own boundaries
    assert len(lone.b) > len(single.planes.b)
    both = {tuple(round(float(v), 7) for v in (*u, c)) for u, c in zip(*single.near(every, 1.0), strict=True)}
    rows = list(zip(*double.near(every, 1.0), strict=True))
    split = {tuple(round(float(v), 7) for v in (*u, c)) for u, c in rows}
    signs = [tuple(-v for v in row) for row in split]
    assert all(row in split or row in signs for row in both)
    pairs = itertools.combinations(rows, 2)
    assert all(
        max(float((u - s * v).norm()), float((c - s * e).abs())) > 1e-9 for (u, c), (v, e) in pairs for s in (1, -1)
    )


@pytest.mark.parametrize(("call", "message"), [
    (lambda t, s, x: lowest_layer(t, s, x[:2], 0.1), "expected at least 3 points"),
    (lambda t, s, x: lowest_layer(t, s, x, 0.0), "above 0"),
    (lambda t, s, x: lowest_layer(t, s, x, 0.1, node=7), "choose a node from 0 to 1"),
    (lambda t, s, x: lowest_layer(t, s, x[:, :1], 0.1), "points have shape"),
    (lambda t, s, x: lowest_layer(t, rl.MLP((2, 2, 2, 3)), x, 0.1), "2 outputs and the student 3"),
    (lambda t, s, x: lowest_layer(t, rl.MLP((2, 2)), x, 0.1), "with at least two layers"),
    (lambda t, s, x: lowest_layer(t, rl.MLP((2, 2, 2, 2), lanes=2), x, 0.1), "one network with hidden layers"),
])  # fmt: skip
def test_wrong_arguments_raise_an_error(call, message):
    with pytest.raises(rl.UserError, match=message):
        call(*deep_shifted_students(0.1, 100))


@pytest.mark.parametrize("theorem", ["polynomial_samples", "teacher_aware_samples", "lowest_layer"])
def test_points_that_occur_twice_count_once(theorem):
    star, student, x = shifted_students(1e-4, 3000)
    check = getattr(rl.specialization, theorem)
    once, twice = (check(star, student, points, 0.5, node=0) for points in (x, torch.cat([x, x])))
    assert [(c.says, c.measured, c.bound) for c in once.conditions] == [
        (c.says, c.measured, c.bound) for c in twice.conditions
    ]
