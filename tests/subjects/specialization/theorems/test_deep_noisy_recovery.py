"""S0.T5 for deep networks: boxes in one region by sampling, the two-layer networks there, and no wrong verdicts."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import relulab as rl
from relulab import Verdict
from relulab.subjects.specialization import Box
from relulab.subjects.specialization.theorems.noisy_recovery import gradient_on
from relulab.subjects.specialization.tools.creases import creases
from relulab.subjects.specialization.tools.deep_pairs import bent_above, deep_shifted_students
from relulab.subjects.specialization.tools.lowest_gradient import composition_rounding, lowest_gradient
from relulab.subjects.specialization.tools.one_region import steady, steady_boxes, two_layers_at
from relulab.subjects.specialization.tools.shifted_students import shifted_students

noisy_recovery = rl.specialization.noisy_recovery


def draw(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def network(widths: tuple[int, ...], seed: int, slope: float = 0.0) -> rl.MLP:
    return rl.torch_default(widths, seeds=[seed], slope=slope, dtype=torch.float64)


def inside(box: Box, n: int, seed: int = 0) -> torch.Tensor:
    """Points of a box, half of them on its faces."""
    x = box.draw(n, torch.Generator().manual_seed(seed))
    ends = torch.rand(n, len(box.low), generator=torch.Generator().manual_seed(seed + 1)) < 0.5
    return torch.where(ends & (torch.arange(n) % 2 > 0)[:, None], box.high, x)


def upper_gates(net: rl.MLP, x: torch.Tensor) -> torch.Tensor:
    return torch.cat([f[0] > 0 for f in net.layers(x)[1:-1]], 1)


@settings(max_examples=12, deadline=None)
@given(seed=st.integers(0, 10**6), depth=st.integers(3, 5), slope=st.sampled_from([0.0, 0.1]), d=st.integers(2, 4))
def test_on_its_box_a_deep_network_has_two_layers(seed, depth, slope, d):
    star, net = (network((d, *[5] * (depth - 1), 2), seed + i, slope) for i in (0, 1))
    x, share, boxes = steady_boxes(star, net, Box.around(d, 2), seed % 5)
    assert len(x) == len(share) == len(boxes) and (share > 0).all()
    for point, box in list(zip(x, boxes, strict=True))[:6]:
        points = inside(box, 200, seed)
        for one in (star, net):
            assert (upper_gates(one, points) == upper_gates(one, point[None])).all()
            torch.testing.assert_close(two_layers_at(one, point)(points), one(points), atol=1e-13, rtol=1e-12)


@pytest.mark.parametrize("slope", [0.0, 0.1])
def test_boxes_are_not_much_smaller_than_they_could_be(slope):
    """A unit of the second layer switches in the box that is twice as large, for most points."""
    star, net = (network((2, 4, 4, 2), i, slope) for i in (1, 2))
    x, share, _ = steady_boxes(star, net, Box.around(2, 2), 0)
    changed = []
    for point, size in zip(x, share, strict=True):
        low, high = (
            point + min(2 * float(size), 1) * (end - point) for end in (torch.full((2,), e).double() for e in (-2, 2))
        )
        points = inside(Box(low, high), 400)
        changed.append(any((upper_gates(one, points) != upper_gates(one, point[None])).any() for one in (star, net)))
    assert sum(changed) > 0.6 * len(changed) > 0


def test_a_unit_that_gets_nothing_keeps_its_gate():
    net = rl.MLP((2, 1, 1, 1), dtype=torch.float64)  # all weights are zero, so that no pre-activation is anything else
    low = torch.full((1, 2), -1.0).double()
    assert steady(net, low, -low).all()
    net.b[0].data.fill_(1.0)
    net.W[1].data.fill_(1.0)
    net.b[1].data.fill_(-1.0)  # exactly zero everywhere, but only by cancellation: rounding decides
    assert not steady(net, low, -low).any()


def passed_on(two: rl.MLP, lift: float = 10.0) -> rl.MLP:
    """The same function with a second hidden layer that passes on the first one, and never switches."""
    n = two.widths[1]
    net = rl.MLP((two.widths[0], n, n, two.widths[2]), slope=two.slope, dtype=torch.float64)
    net.W[0].data, net.b[0].data = two.W[0].data, two.b[0].data
    net.W[1].data[0], net.b[1].data[0, 0] = torch.eye(n), lift
    net.W[2].data, net.b[2].data = two.W[1].data, two.b[1].data - lift * two.W[1].data.sum(1, keepdim=True)
    return net


@pytest.mark.parametrize("slope", [0.0, 0.1])
@pytest.mark.parametrize("squared", [False, True])
def test_a_layer_that_passes_everything_on_changes_nothing(slope, squared):
    star, net, _ = shifted_students(1e-3, 1, slope=slope)
    two = noisy_recovery(star, net, Box.around(2), squared=squared)
    for pair in ((passed_on(star), passed_on(net)), (star, passed_on(net)), (passed_on(star), net)):
        deep = noisy_recovery(*pair, Box.around(2), squared=squared)
        assert deep.verdict is two.verdict
        assert "the best one is 1 times as large" in deep.conditions[0].detail
        for a, b in zip((*deep.conditions[1:], *deep.conclusion), (*two.conditions, *two.conclusion), strict=True):
            assert a.measured == pytest.approx(b.measured, rel=1e-6)


@pytest.mark.parametrize("slope", [0.0, 0.1])
def test_the_gradient_on_a_box_beside_that_of_the_deep_networks(slope):
    star, net, _ = deep_shifted_students(0.2, 1, slope)
    for j in (0, 1):
        x, _, boxes = steady_boxes(star, net, Box.around(2), j)
        for point, box in list(zip(x, boxes, strict=True))[:3]:
            epsilon, exact = gradient_on(creases(two_layers_at(star, point), two_layers_at(net, point), box))
            largest = float(lowest_gradient(star, net, inside(box, 20_000))[0].abs().max())
            assert exact and largest <= epsilon * (1 + 1e-9) <= 1.1 * largest


@settings(max_examples=6, deadline=None)
@given(shift=st.sampled_from([0.0, 1e-6, 1e-3, 0.1]), noise=st.sampled_from([0.0, 1e-6, 1e-3, 0.1]),
       slope=st.sampled_from([0.0, 0.1]), seed=st.integers(0, 10**6))  # fmt: skip
def test_small_gradients_of_deep_networks_never_leave_a_node_unaligned(shift, noise, slope, seed):
    star, net, _ = deep_shifted_students(shift, 1, slope)
    for l, p in enumerate(net.parameters()):
        p.data += noise * draw(*p.shape, seed=seed + l)
    for node in (0, 1):
        assert noisy_recovery(star, net, Box.around(2), node=node).verdict is not Verdict.REFUTED


def test_a_node_that_the_second_layer_of_the_student_replaces():
    """The printed SS.T5 fails there. S0.T5 asks for a region around a part of the boundary, and there is none."""
    star, net, _ = bent_above(1)
    finding = noisy_recovery(star, net, Box.around(2), node=0)
    assert finding.verdict is Verdict.NOT_APPLICABLE and finding.conditions[0].holds is False
    assert noisy_recovery(star, net, Box.around(2), node=2).verdict is Verdict.HOLDS


def test_zero_gradients_mean_exact_students_as_in_theorem_4():
    star, net, _ = deep_shifted_students(0.0, 1)
    for node in (0, 1):
        finding = noisy_recovery(star, net, Box.around(2), node=node)
        assert finding.verdict in (Verdict.HOLDS, Verdict.INCONCLUSIVE)
        assert finding.conditions[2].measured < 1e-9  # the bound on the angle


@pytest.mark.parametrize("spare", [1e4, 1e9, 1e13])
def test_rounding_of_large_weights_that_cancel_enters_the_bounds(spare):
    star, net, _ = deep_shifted_students(0.0, 1, spare=spare)
    small, large = (noisy_recovery(star, one, Box.around(2), node=0) for one in (deep_shifted_students(0.0, 1)[1], net))
    assert small.verdict is Verdict.HOLDS and large.verdict is not Verdict.REFUTED
    far = Box.around(2).farthest
    assert composition_rounding(star, net, far) > spare * 1e-16
    x = inside(Box.around(2), 500)
    g = two_layers_at(net, x[0])
    exact = two_layers_at(deep_shifted_students(0.0, 1)[1], x[0])
    gap = (g(x[:1]) - exact(x[:1])).detach().abs().max()
    assert float(gap) * spare <= composition_rounding(star, net, far)


def test_the_strongest_node_is_the_default():
    star, net, _ = deep_shifted_students(1e-4, 1)
    star.W[0].data[..., 1] *= 100
    star.b[0].data[..., 1] *= 100
    star.W[1].data[:, 1] /= 10
    said = noisy_recovery(star, net, Box.around(2)).conditions[0].says
    assert "node 1" in said


@pytest.mark.parametrize(("call", "message"), [
    (lambda t, s: noisy_recovery(t, s, Box.around(2), node=2), "choose a node from 0 to 1"),
    (lambda t, s: noisy_recovery(t, s, Box.around(3)), "for 2 inputs"),
    (lambda t, s: noisy_recovery(t, rl.MLP((2, 2, 2, 3)), Box.around(2)), "inputs and outputs must agree"),
    (lambda t, s: noisy_recovery(t, rl.MLP((2, 2, 2, 2), lanes=2), Box.around(2)), "one network with hidden layers"),
    (lambda t, s: noisy_recovery(*(network((1, 2, 2, 1), i) for i in (0, 1)), Box.around(1)), "at least 2 inputs"),
])  # fmt: skip
def test_wrong_arguments_raise_an_error(call, message):
    star, net, _ = deep_shifted_students(0.1, 1)
    with pytest.raises(rl.UserError, match=message):
        call(star, net)
