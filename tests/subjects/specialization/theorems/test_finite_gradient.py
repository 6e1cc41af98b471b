"""S0.T1 over all batches by enumeration; SS.T3, SS.T4 and S0.T5 never refuted, whatever the student."""

import math
from itertools import combinations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import relulab as rl
from relulab import Verdict
from relulab.subjects.specialization import Box, Nodes, alignment
from relulab.subjects.specialization.theorems.interpolation import sizes
from relulab.subjects.specialization.theorems.noisy_recovery import _ball, promised
from relulab.subjects.specialization.tools.band_constants import band_constant, thinnest
from relulab.subjects.specialization.tools.shifted_students import near_copy, shifted_students


def draw(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


@pytest.mark.parametrize("batch", [1, 2, 4])
def test_the_largest_sum_equals_that_over_all_batches(batch):
    g, f = draw(8, 3, seed=batch), draw(8, 4, seed=10 + batch)
    U = g[:, :, None] * f[:, None, :]
    slow = max(float(U[list(B)].sum(0).abs().max()) for B in combinations(range(8), batch))
    assert sizes(g, f, batch) == pytest.approx((float(U.abs().max()), slow))


@settings(max_examples=30, deadline=None)
@given(N=st.integers(3, 40), batch=st.integers(1, 39), seed=st.integers(0, 10**6), depth=st.integers(1, 3))
def test_interpolation_holds_at_any_weights(N, batch, seed, depth):
    nets = [rl.torch_default((3, *[4] * (depth - 1), 2), seeds=[seed + i]) for i in (0, 1)]
    verdict = rl.specialization.interpolation(*nets, draw(N, 3, seed=seed), batch=batch).verdict
    assert verdict is (Verdict.HOLDS if batch < N else Verdict.NOT_APPLICABLE)


def test_interpolation_raises_an_error_for_wrong_shapes():
    nets = [rl.torch_default((3, 4, C), seeds=[0]) for C in (2, 3)]
    with pytest.raises(rl.UserError, match="the teacher has 2 outputs and the student 3"):
        rl.specialization.interpolation(*nets, draw(9, 3))
    with pytest.raises(rl.UserError, match="points have shape"):
        rl.specialization.interpolation(nets[0], nets[0], draw(9, 4))


def jittered(shift: float, noise: float, seed: int, n: int):
    teacher, student, x = shifted_students(shift, n)
    for p in student.parameters():
        p.data += noise * draw(*p.shape, seed=seed)
    return teacher, student, x


@settings(max_examples=25, deadline=None)
@given(shift=st.sampled_from([0.0, 1e-4, 1e-2, 0.3]), noise=st.sampled_from([0.0, 1e-5, 1e-3, 0.1]),
       epsilon=st.sampled_from([0.05, 0.3, 0.9]), seed=st.integers(0, 10**6))  # fmt: skip
def test_small_gradients_never_leave_a_node_unaligned(shift, noise, epsilon, seed):
    teacher, student, x = jittered(shift, noise, seed, 3000)
    for theorem in (rl.specialization.polynomial_samples, rl.specialization.teacher_aware_samples):
        assert theorem(teacher, student, x, epsilon).verdict is not Verdict.REFUTED
    for node in (0, 1):
        assert (
            rl.specialization.noisy_recovery(teacher, student, Box.around(2), node=node).verdict is not Verdict.REFUTED
        )


def test_flipped_students_count_as_aligned():
    """A student active on the other side, with linear ones, has zero gradient: only the hyperplane counts."""
    from relulab.subjects.specialization.theorems.student_specialization import exact_pair

    star, net = exact_pair(flipped=True, spare=False)
    assert rl.specialization.noisy_recovery(star, net, Box.around(3), node=0).verdict is Verdict.HOLDS


def test_the_thinnest_band_by_trying_all_bands():
    t, most = draw(60, 4, seed=3), 9
    half = thinnest(t, most)
    counts = [[int(((s >= a) & (s <= a + 2 * half)).sum()) for a in s.tolist()] for s in t.T]
    wider = [[int(((s >= a) & (s <= a + 2.0001 * half)).sum()) for a in s.tolist()] for s in t.T]
    assert half > 0 and max(map(max, counts)) == most < max(map(max, wider))


@settings(max_examples=25, deadline=None)
@given(d=st.integers(1, 8), K=st.integers(2, 9), width=st.sampled_from([1e-3, 0.05, 0.5]), seed=st.integers(0, 10**6),
       near=st.booleans())  # fmt: skip
def test_lemma_6_by_counting(d, K, width, seed, near):
    """If no other hyperplane is aligned with that of j up to (M₁ε', M₂ε'), some point of D' is γε' away from all."""
    gamma = 2.0
    nodes = rl.specialization.regular(rl.specialization.Nodes(draw(K, d, seed=seed), draw(K, seed=seed + 1)))
    if near:  # a hyperplane that is parallel to that of j up to rounding
        nodes.w[1], nodes.b[1] = nodes.w[0] + 1e-9 * draw(d, seed=seed + 2), nodes.b[0] + 0.3
    w, b = nodes.w[0], nodes.b[0]
    n = math.ceil((gamma + 3) * K * (d + 1))
    x = draw(n, d, seed=seed + 3)
    x = x - (x @ w + b + width * (2 * torch.rand(n, generator=torch.Generator().manual_seed(seed)) - 1))[:, None] * w
    M = band_constant(x, w, float(b), nodes.w[1:], width, K, gamma)
    error = alignment(Nodes(w[None], b[None]), Nodes(nodes.w[1:], nodes.b[1:]), either_side=True)
    if not (error <= M * width).any():
        assert ((x @ nodes.w[1:].T + nodes.b[1:]).abs() > gamma * width).all(1).any()


def test_the_ball_by_trying_many_points():
    star, nodes = (
        rl.specialization.regular(rl.specialization.Nodes(draw(1, 3, seed=s), draw(1, seed=s + 1) / 4)) for s in (0, 2)
    )
    box, q = Box.around(3), 0.05
    r = _ball(star, 0, nodes, 0, box, q)
    w, b = star.w[0], star.b[0]
    x = box.draw(100_000, torch.Generator().manual_seed(0))
    x = x - (x @ w + b)[:, None] * w  # onto the boundary
    flat = torch.eye(3, dtype=torch.float64) - torch.outer(w, w)
    faces = torch.minimum((box.high - x - q) / flat.norm(dim=1), (x - box.low - q) / flat.norm(dim=1)).amin(1)
    active = (x @ nodes.w[0] + nodes.b[0] - q * nodes.w[0].norm()) / (flat @ nodes.w[0]).norm()
    sampled = float(torch.minimum(faces, active).max())
    assert sampled <= r + 1e-9 and r <= sampled + 0.03


def test_bounds_shrink_with_the_gradient():
    teacher, student, _ = shifted_students(1e-3, 1)
    pair = rl.specialization.creases(teacher, student, Box.around(2))
    bounds = [promised(pair, 0, epsilon) for epsilon in (1e-3, 1e-4, 1e-5)]
    assert bounds[0].sine > 9 * bounds[1].sine > 81 * bounds[2].sine > 0
    assert bounds[0].bias > 9 * bounds[1].bias > 81 * bounds[2].bias > 0


@pytest.mark.parametrize("call, message", [
    (lambda t, s, x: rl.specialization.polynomial_samples(t, s, x[:2], 0.1), "expected at least 3 points"),
    (lambda t, s, x: rl.specialization.polynomial_samples(t, s, x, 0.0), "above 0"),
    (lambda t, s, x: rl.specialization.teacher_aware_samples(t, s, x, 0.1, node=7), "choose a node from 0 to 1"),
    (lambda t, s, x: rl.specialization.noisy_recovery(t, s, Box.around(2), node=-1), "node -1"),
    (lambda t, s, x: rl.specialization.noisy_recovery(t, s, Box.around(3)), "for 2 inputs"),
])  # fmt: skip
def test_wrong_arguments_raise_an_error(call, message):
    with pytest.raises(rl.UserError, match=message):
        call(*shifted_students(0.1, 100))


@pytest.mark.parametrize("theorem", [rl.specialization.polynomial_samples, rl.specialization.teacher_aware_samples])
def test_beyond_three_dimensions_the_finding_is_decided(theorem):
    star, net, x = near_copy(60_000)
    assert theorem(star, net, x, 0.9).verdict is Verdict.HOLDS
    assert theorem(star, net, x[:2000], 0.9).verdict is Verdict.NOT_APPLICABLE
    net.b[0].data += 0.05
    finding = theorem(star, net, x, 0.9)  # the gradient is not small
    assert finding.verdict is Verdict.NOT_APPLICABLE and finding.conditions[-1].holds is False


def test_a_constant_depends_on_the_directions_of_the_other_nodes_only():
    x, w = draw(400, 6), torch.eye(6, dtype=torch.float64)[0]
    x[:, 1] *= 1e-3  # thin in one direction
    across, along = (torch.eye(6, dtype=torch.float64)[[i]] for i in (1, 2))
    thin, wide = (band_constant(x, w, 0.0, normal, 0.1, 4, 2.0) for normal in (across, along))
    assert thin > 100 * wide
    for other in (-along, 0.6 * w + 0.8 * along, along.repeat(3, 1)):
        assert band_constant(x, w, 0.0, other, 0.1, 4, 2.0) == pytest.approx(wide)


@settings(max_examples=40, deadline=None)
@given(scale=st.sampled_from([1.0, 3.0, 0.1, 0.7, 1e-9, 1e9]), box=st.sampled_from([1e-6, 1.0, 1e5]),
       seed=st.integers(0, 10**6))  # fmt: skip
def test_copies_at_any_scale_are_recovered(scale, box, seed):
    star = rl.torch_default((2, 3, 2), seeds=[seed], dtype=torch.float64)
    star.b[0].data *= box
    net = rl.MLP.of(star.module())
    net.W[0].data *= scale
    net.b[0].data *= scale
    net.W[1].data /= scale
    for node in range(3):
        assert rl.specialization.noisy_recovery(star, net, Box.around(2, box), node=node).verdict in (
            Verdict.HOLDS, Verdict.NOT_APPLICABLE,
        )  # fmt: skip
    assert rl.specialization.noisy_recovery(star, star, Box.around(2, box)).verdict in (
        Verdict.HOLDS,
        Verdict.NOT_APPLICABLE,
    )


@pytest.mark.parametrize("scale", [1.0, 1e-4, 1e-8, 1e-10])
def test_a_student_that_hardly_observes_a_boundary_is_not_applicable(scale):
    star = rl.MLP((2, 1, 1), dtype=torch.float64)
    star.W[0].data[0, :, 0], star.W[1].data[0] = torch.tensor([0.5**0.5, -(0.5**0.5)]).double(), 1.0
    net = rl.MLP((2, 1, 1), dtype=torch.float64)
    net.W[0].data.fill_(scale)
    net.b[0].data.fill_(-(2 - 1e-3) * scale)
    net.W[1].data.fill_(1.0)
    assert rl.specialization.noisy_recovery(star, net, Box.around(2)).verdict is Verdict.NOT_APPLICABLE


def test_a_student_without_fan_out_observes_nothing():
    teacher, student, x = shifted_students(0.1, 2000)
    student.W[1].data.zero_()
    finding = rl.specialization.polynomial_samples(teacher, student, x, 0.5)
    assert finding.verdict is Verdict.NOT_APPLICABLE and finding.conditions[0].holds is False
