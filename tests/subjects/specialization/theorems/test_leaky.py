"""Leaky ReLUs in SS.T1 to T4, SS.C1 and S0.T5: exact students, other slopes, and factors by hand."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import relulab as rl
from relulab import Verdict
from relulab.subjects.specialization import Box
from relulab.subjects.specialization.theorems.noisy_recovery import promised
from relulab.subjects.specialization.theorems.prunable_students import counterexample
from relulab.subjects.specialization.theorems.student_specialization import exact_pair
from relulab.subjects.specialization.theorems.teacher_aware_samples import SETTING
from relulab.subjects.specialization.tools.creases import creases, seen
from relulab.subjects.specialization.tools.finite_samples import Pair, _tries
from relulab.subjects.specialization.tools.shifted_students import shifted_students

SS = rl.specialization


def with_slope(net: rl.MLP, slope: float) -> rl.MLP:
    """The same weights with another activation."""
    other = rl.MLP(net.widths, slope=slope, dtype=net.dtype)
    for new, old in zip(other.parameters(), net.parameters(), strict=True):
        new.data.copy_(old.data)
    return other


@pytest.mark.parametrize("slope", [0.01, 0.1, 0.9])
@pytest.mark.parametrize("flipped", [False, True])
def test_exact_students_hold_and_other_slopes_do_not_apply(slope, flipped):
    star, net = exact_pair(flipped=flipped, slope=slope)
    x = Box.around(3).draw(500, torch.Generator().manual_seed(0))
    with torch.no_grad():
        torch.testing.assert_close(star(x), net(x), rtol=0, atol=1e-12)
    for theorem in (SS.student_specialization, SS.prunable_students):
        assert theorem(star, net, Box.around(3)).verdict is Verdict.HOLDS
        other = with_slope(net, slope + 1e-3)
        finding = theorem(star, other, Box.around(3))
        assert finding.verdict is Verdict.NOT_APPLICABLE and finding.conditions[2].holds is False


def translated(star: rl.MLP, slope: float) -> rl.MLP:
    """A student with another slope and the same outputs on [−1, 1]³: σ* = (1 − c*)/(1 − c) σ + (…) z for each node.

    The linear function z is ½ σ(z + 4) − ½ σ(4 − z), where both arguments are positive.
    """
    (w, b), v, c = SS.lowest(star), star.W[1].data[0], star.slope
    bend = (1 - c) / (1 - slope)
    linear = c - slope * bend
    net = rl.MLP((3, 3 * len(b), v.shape[1]), slope=slope, dtype=torch.float64)
    net.W[0].data[0] = torch.cat([w, w, -w]).T
    net.b[0].data[0, 0] = torch.cat([b, b + 4, 4 - b])
    net.W[1].data[0] = torch.cat([bend * v, linear * v / 2, -linear * v / 2])
    net.b[1].data.copy_(star.b[1].data)
    return net


@pytest.mark.parametrize(("c_star", "c"), [(0.0, 0.2), (0.2, 0.0), (0.3, 0.1)])
def test_teacher_and_student_may_have_different_slopes(c_star, c):
    star = exact_pair(slope=c_star)[0]
    net = translated(star, c)
    x = Box.around(3).draw(500, torch.Generator().manual_seed(0))
    with torch.no_grad():
        torch.testing.assert_close(star(x), net(x), rtol=0, atol=1e-12)
    assert SS.student_specialization(star, net, Box.around(3)).verdict is Verdict.HOLDS
    net.b[0].data[0, 0, 0] += 1e-6
    assert SS.student_specialization(star, net, Box.around(3)).verdict is Verdict.NOT_APPLICABLE


@pytest.mark.parametrize("slope", [0.0, 0.1])
def test_a_leaky_student_observes_its_own_hyperplane(slope):
    """One teacher node and its copy: a plain copy is 0 on the boundary, a leaky one has a gradient on both sides."""
    star = rl.torch_default((4, 1, 2), seeds=[0], slope=slope, dtype=torch.float64)
    net = rl.MLP.of(star.module())
    assert seen(creases(star, net, Box.around(4))).tolist() == [[slope > 0]]
    expected = Verdict.HOLDS if slope else Verdict.NOT_APPLICABLE
    assert SS.student_specialization(star, net, Box.around(4)).verdict is expected


@pytest.mark.parametrize("slope", [0.05, 0.5])
def test_opposite_students_leave_a_linear_function(slope):
    star, net = counterexample(slope=slope)
    x = Box.around(3).draw(2000, torch.Generator().manual_seed(0))
    with torch.no_grad():
        assert (star(x) - net(x)).abs().max() < 1e-12 * star(x).abs().max()
        w, b, v = net.W[0][0], net.b[0][0, 0], net.W[1][0]
        spare = torch.tensor([6, 7, 8, 9, 11, 12])  # the others are on hyperplanes of the teacher
        z = x @ w[:, spare] + b[spare]
        added = torch.where(z > 0, z, slope * z) @ v[spare]
        by_hand = (1 + slope) * (x @ w[:, 11] + b[11])[:, None] * v[11]
    torch.testing.assert_close(added, by_hand, rtol=0, atol=1e-12)
    finding = SS.zero_contribution(star, net, Box.around(3))
    assert finding.verdict is Verdict.REFUTED
    assert 0.8 * added.abs().max() <= finding.conclusion[0].measured <= 1.3 * added.abs().max()
    assert SS.zero_contribution(star, net, Box.around(3), one_sided=True).verdict is Verdict.NOT_APPLICABLE
    theorem_2 = [SS.prunable_students(star, net, Box.around(3), one_side=side) for side in (False, True)]
    assert [finding.verdict for finding in theorem_2] == [Verdict.HOLDS, Verdict.REFUTED]


@settings(max_examples=12, deadline=None)
@given(slopes=st.tuples(*[st.sampled_from([0.0, 0.1, 0.6])] * 2), shift=st.sampled_from([0.0, 1e-4, 0.3]),
       noise=st.sampled_from([0.0, 1e-5, 0.1]), epsilon=st.sampled_from([0.3, 0.9]),
       seed=st.integers(0, 10**6))  # fmt: skip
def test_small_gradients_never_leave_a_node_unaligned(slopes, shift, noise, epsilon, seed):
    star, net, x = shifted_students(shift, 1000)
    for p in net.parameters():
        p.data += noise * torch.randn(p.shape, generator=torch.Generator().manual_seed(seed), dtype=p.dtype)
    star, net = with_slope(star, slopes[0]), with_slope(net, slopes[1])
    for theorem in (SS.polynomial_samples, SS.teacher_aware_samples):
        assert theorem(star, net, x, epsilon).verdict is not Verdict.REFUTED
    assert SS.noisy_recovery(star, net, Box.around(2)).verdict is not Verdict.REFUTED


@pytest.mark.parametrize("slope", [0.0, 0.1, 0.7])
def test_lemma_7_by_hand(slope):
    """Across a boundary the second difference of h is at least (1 − slope)|c_j|(ε_0 − ε_l); so |h| exceeds a fifth."""
    x = torch.linspace(-1, 1, 201, dtype=torch.float64)  # w_jᵀx within ε_l = 1
    sigma = torch.nn.functional.leaky_relu
    e = 2.0  # ε_0 = w_jᵀẽ
    second = sigma(x + e, slope) + sigma(x - e, slope) - 2 * sigma(x, slope)
    assert float(second.min()) == pytest.approx((1 - slope) * (e - 1))


def test_the_bound_on_the_gradient_has_the_factor_of_lemma_7():
    plain, leaky = (
        {t[:3]: t for t in _tries(Pair.of(*shifted_students(1e-4, 2000, slope=c)), 0.9, 0, 6, SETTING, False)}
        for c in (0.0, 0.6)
    )
    assert len(leaky) == 2 * len(plain) > 0
    for (k, _, width), a in plain.items():
        on, off = leaky[k, True, width], leaky[k, False, width]
        assert (on.allowed, on.count) == (pytest.approx(0.4 * a.allowed), a.count) and a.allowed > 0
        assert off.allowed == pytest.approx(0.6 * on.allowed)


def test_points_where_a_leaky_student_is_not_active_count_with_its_slope():
    """A student that is never active has a gradient if it is leaky, and so it can be the observer."""
    star, net, x = shifted_students(1e-5, 20_000, slope=0.5)
    net.W[1].data[0].zero_()  # no other student has α_kj ≠ 0
    wide = rl.MLP((2, 5, 2), slope=0.5, dtype=torch.float64)
    for new, old in zip(wide.parameters(), net.parameters(), strict=True):
        new.data[tuple(slice(0, n) for n in old.shape)] = old.data
    wide.W[0].data[0, 0, -1], wide.b[0].data[0, 0, -1], wide.W[1].data[0, -1] = 1.0, -50.0, 1e-9
    finding = SS.teacher_aware_samples(star, wide, x, 0.9)
    assert "is not active" in finding.conditions[1].says and finding.conditions[1].holds
    assert finding.conditions[-1].says.startswith("(d) ‖g_1‖∞ is at most c (1 − c*)")
    assert finding.conditions[-1].bound == pytest.approx(0.5 * 0.5 * finding.conditions[0].measured * 0.9 / 5, rel=1)
    assert SS.teacher_aware_samples(star, with_slope(wide, 0.0), x, 0.9).conditions[1].holds is False


def test_the_bounds_of_noisy_recovery_grow_by_the_factor_of_the_bends():
    pairs = [creases(*shifted_students(1e-3, 1, slope=c)[:2], Box.around(2)) for c in (0.0, 0.5)]
    plain, leaky = (promised(pair, 0, 1e-4 * factor) for pair, factor in zip(pairs, (1.0, 0.5), strict=True))
    assert leaky.sine == pytest.approx(plain.sine) and leaky.bias == pytest.approx(plain.bias)
    assert promised(pairs[1], 0, 1e-4).sine > 1.9 * plain.sine
