"""SS.T1, SS.T2 and C1, SS.L3 and SS.L4: on random exact students, and where they do not apply."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import relulab as rl
from relulab import Verdict
from relulab.subjects.specialization import Box, Nodes
from relulab.subjects.specialization.theorems.student_specialization import exact_pair


def split(star: rl.MLP, parts: int, spare: int, seed: int) -> rl.MLP:
    """A student with the same outputs: every node split into ``parts``, and ``spare`` pairs that cancel."""
    generator = torch.Generator().manual_seed(seed)
    (w, b), v = rl.specialization.lowest(star), star.W[1].data[0]
    d, C = w.shape[1], v.shape[1]
    rows = []
    for j in range(len(b)):
        shares = torch.rand(parts, generator=generator).double() + 0.1
        for share in (shares / shares.sum()).tolist():
            size = 0.5 + float(torch.rand(1, generator=generator))
            rows.append((size * w[j], size * b[j], share / size * v[j]))
    for _ in range(spare):
        u, a = (torch.randn(n, generator=generator).double() for n in (d, C))
        c = torch.randn((), generator=generator).double() / 4
        rows += [(u, c, a), (3 * u, 3 * c, -a / 3)]
    net = rl.MLP((d, len(rows), C), dtype=torch.float64)
    W, B, V = (torch.stack(part) for part in zip(*rows, strict=True))
    net.W[0].data[0], net.b[0].data[0, 0], net.W[1].data[0] = W.T, B, V
    net.b[1].data.copy_(star.b[1].data)
    return net


@settings(max_examples=40, deadline=None)
@given(d=st.integers(2, 6), m=st.integers(1, 5), C=st.integers(1, 4), parts=st.integers(1, 3), spare=st.integers(0, 3),
       seed=st.integers(0, 10**6))  # fmt: skip
def test_exact_students_hold_and_shifted_ones_do_not_apply(d, m, C, parts, spare, seed):
    star = rl.specialization.teacher((d, m, C), seeds=[seed], bias=-0.1)
    net = split(star, parts, spare, seed)
    box = Box.around(d, 2.0)
    finding = rl.specialization.student_specialization(star, net, box)
    assert all(c.holds for c in finding.conditions[:-1])
    # a student on the teacher's own hyperplane does not observe it, and α_kj may be 0
    assert finding.verdict is Verdict.HOLDS or not finding.conditions[-1].holds
    assert finding.verdict is Verdict.HOLDS or m < 3 or C == 1
    assert rl.specialization.prunable_students(star, net, box).verdict in (Verdict.HOLDS, Verdict.NOT_APPLICABLE)
    net.b[0].data[0, 0, 0] += 1e-3
    assert rl.specialization.student_specialization(star, net, box).verdict is Verdict.NOT_APPLICABLE


def test_students_that_cancel_can_be_pruned_without_any_change():
    star, net = exact_pair()
    assert rl.specialization.prunable_students(star, net, Box.around(3)).verdict is Verdict.HOLDS
    x = Box.around(3).draw(2000, torch.Generator().manual_seed(0))
    pruned = rl.specialization.prune(net, x, teacher=star, tolerance=1e-12, refit=False)
    assert pruned.net.widths == star.widths
    torch.testing.assert_close(pruned.net(x), star(x), rtol=0, atol=1e-12)


def test_a_group_that_does_not_cancel_has_a_gradient():
    star, net = exact_pair()
    net.W[1].data[0, 8] *= 1.5
    finding = rl.specialization.prunable_students(star, net, Box.around(3))
    assert finding.verdict is Verdict.NOT_APPLICABLE and finding.conditions[2].holds is False


@pytest.mark.parametrize("shift", [-0.1, 0.25, 0.4])
@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_the_corollary_is_false_where_students_add_a_linear_function(shift, scale):
    from relulab.subjects.specialization.theorems.prunable_students import counterexample

    star, net = counterexample(shift)
    for W in (star.W[1], star.b[1], net.W[1], net.b[1]):
        W.data *= scale
    x = Box.around(3).draw(2000, torch.Generator().manual_seed(0))
    with torch.no_grad():
        assert (star(x) - net(x)).abs().max() < 1e-12 * star(x).abs().max()
        w, b, v = net.W[0][0], net.b[0][0, 0], net.W[1][0]
        spare = torch.tensor([6, 7, 8, 9, 11, 12])  # the others are on hyperplanes of the teacher
        added = ((x @ w[:, spare] + b[spare]).relu() @ v[spare]).abs().max()
    finding = rl.specialization.zero_contribution(star, net, Box.around(3))
    assert finding.verdict is Verdict.REFUTED and 0.8 * added <= finding.conclusion[0].measured
    assert (
        rl.specialization.zero_contribution(star, net, Box.around(3), one_sided=True).verdict is Verdict.NOT_APPLICABLE
    )
    theorem_2 = [rl.specialization.prunable_students(star, net, Box.around(3), one_side=side) for side in (False, True)]
    assert [finding.verdict for finding in theorem_2] == [Verdict.HOLDS, Verdict.REFUTED]


def test_a_student_without_input_weights_adds_a_constant():
    star, net = exact_pair()
    wide = rl.MLP((3, net.widths[1] + 1, 5), dtype=torch.float64)
    for new, old in zip((*wide.W, *wide.b), (*net.W, *net.b), strict=True):
        new.data[tuple(slice(0, n) for n in old.shape)] = old.data
    wide.b[0].data[0, 0, -1], wide.W[1].data[0, -1] = 0.5, 1.0
    wide.b[1].data -= 0.5
    finding = rl.specialization.zero_contribution(star, wide, Box.around(3))
    assert finding.verdict is Verdict.REFUTED and finding.conclusion[0].measured == pytest.approx(0.5, rel=1e-6)


def not_applicable(star, net, which: int, box: Box | None = None):
    for theorem in (rl.specialization.student_specialization, rl.specialization.prunable_students):
        finding = theorem(star, net, box or Box.around(star.widths[0]))
        assert finding.verdict is Verdict.NOT_APPLICABLE and finding.conditions[which].holds is False


def test_a_teacher_with_two_co_linear_nodes_is_not_applicable():
    star, net = exact_pair()
    for factor in (2.0, -1.0):
        star.W[0].data[0, :, 1], star.b[0].data[0, 0, 1] = factor * star.W[0].data[0, :, 0], factor * star.b[0][0, 0, 0]
        not_applicable(star, net, 0)


def test_a_boundary_outside_of_the_box_is_not_applicable():
    star, net = exact_pair()
    not_applicable(star, net, 1, Box(torch.full((3,), 5.0), torch.full((3,), 6.0)))


def test_more_teachers_than_students_are_not_applicable():
    star = exact_pair()[0]
    not_applicable(star, rl.torch_default((3, 2, 5), seeds=[0], dtype=torch.float64), 2)


def test_students_that_are_all_dead_observe_nothing():
    star, net = exact_pair()
    net.b[0].data.fill_(-50)
    not_applicable(star, net, 3)
    net.W[0].data.zero_()
    not_applicable(star, net, 3)


def test_finite_sets_are_not_applicable_and_other_dimensions_raise_an_error():
    star, net = exact_pair()
    finding = rl.specialization.student_specialization(star, net, torch.randn(50, 3))
    assert finding.verdict is Verdict.NOT_APPLICABLE and "50 points were given" in finding.conditions[0].detail
    with pytest.raises(rl.UserError, match="3 inputs"):
        rl.specialization.student_specialization(star, net, torch.randn(50, 4))
    with pytest.raises(rl.UserError, match="for 3 inputs"):
        rl.specialization.prunable_students(star, net, Box.around(4))


@settings(max_examples=40, deadline=None)
@given(K=st.integers(1, 12), d=st.integers(1, 6), seed=st.integers(0, 10**6))
def test_nodes_of_distinct_hyperplanes_are_independent(K, d, seed):
    generator = torch.Generator().manual_seed(seed)
    nodes = Nodes(torch.randn(K, d, generator=generator), torch.randn(K, generator=generator) / 4)
    verdict = rl.specialization.relu_independence(nodes, Box.around(d, 2.0), seed=seed).verdict
    assert verdict is not Verdict.REFUTED
    # very close hyperplanes may be too close to tell, boundaries may miss the box
    assert verdict is Verdict.HOLDS or K > 6 or d == 1 or verdict is Verdict.NOT_APPLICABLE


def test_nodes_whose_boundary_is_outside_may_depend_on_each_other():
    """σ(z + 9) is linear on the box: it is no counterexample, since the lemma does not apply to it."""
    z = torch.tensor([[1.0, 0.0], [0.0, 1.0], [1.0, 0.0]])
    nodes = Nodes(z, torch.tensor([0.0, 0.0, 9.0]))
    finding = rl.specialization.relu_independence(nodes, Box.around(2))
    assert finding.verdict is Verdict.HOLDS and finding.conditions[2].measured == 2


def test_a_sample_that_is_too_large_raises_an_error():
    with pytest.raises(rl.UserError, match="fewer nodes"):
        rl.specialization.relu_independence(Nodes(torch.randn(2000, 100), torch.zeros(2000)), Box.around(100))


@pytest.mark.parametrize("seed", range(20))
def test_students_on_the_teachers_own_hyperplane_do_not_observe_it(seed):
    """The output of a student on its own hyperplane is 0, and rounding must not make it positive."""
    star = rl.torch_default((5, 1, 2), seeds=[seed], dtype=torch.float64)
    net = split(star, 3, 0, seed)
    assert rl.specialization.student_specialization(star, net, Box.around(5, 3.0)).conditions[-1].measured == 0
    assert rl.specialization.prunable_students(star, net, Box.around(5, 3.0)).verdict is Verdict.NOT_APPLICABLE


@pytest.mark.parametrize("seed", range(20))
def test_boundaries_through_the_center_of_the_box(seed):
    star = rl.specialization.teacher((3, 4, 5), seeds=[seed], bias=-0.1)
    star.b[0].data[0, 0, :2] = 0
    net = split(star, 2, 2, seed)
    net.W[0].data[0, :, 0] *= 1 / 3
    net.b[0].data[0, 0, 0] *= 1 / 3
    net.W[1].data[0, 0] *= 3
    finding = rl.specialization.student_specialization(star, net, Box.around(3))
    assert finding.conditions[2].holds and finding.verdict is Verdict.HOLDS


@pytest.mark.parametrize("scale", [1e-6, 1e-3, 1e3, 1e6])
@pytest.mark.parametrize("offset", [0.0, 10.0, 1e4])
def test_exact_students_hold_wherever_the_box_lies(scale, offset):
    star = rl.specialization.teacher((3, 3, 4), seeds=[1], bias=0.0)
    middle = scale * offset * torch.tensor([1.0, -0.5, 0.25], dtype=torch.float64)
    star.b[0].data[0, 0] = -(middle @ star.W[0].data[0]) - 0.1 * scale
    net = split(star, 2, 0, 3)
    box = Box(middle - scale, middle + scale)
    assert rl.specialization.student_specialization(star, net, box).verdict is Verdict.HOLDS


def test_gaps_larger_than_rounding_are_detected_in_small_boxes():
    h = 1e-11
    star = rl.MLP((2, 2, 1), dtype=torch.float64)
    star.W[0].data[0], star.b[0].data[0, 0] = torch.eye(2).double(), torch.tensor([0.4 * h, 0.1 * h]).double()
    star.W[1].data.fill_(1.0)
    net = rl.MLP((2, 3, 1), dtype=torch.float64)
    net.W[0].data[0] = torch.tensor([[1.0, 1.0, 0.0], [0.0, 0.0, 1.0]]).double()
    net.b[0].data[0, 0] = torch.tensor([0.4 * h + 4.5e-13, 0.4 * h - 4.5e-13, 0.1 * h]).double()
    net.W[1].data[0] = torch.tensor([[0.5], [0.5], [1.0]]).double()
    assert rl.specialization.student_specialization(star, net, Box.around(2, h)).verdict is Verdict.NOT_APPLICABLE


@pytest.mark.parametrize("off", [0.0, 1e-15, 1e-14, 1e-13, 1e-12, 1e-11, 1e-9])
def test_nearly_canceling_students_never_refute(off):
    star, net = exact_pair()
    net.W[1].data[0, 8] *= 1 + off
    for theorem in (rl.specialization.student_specialization, rl.specialization.prunable_students):
        assert theorem(star, net, Box.around(3)).verdict is not Verdict.REFUTED


@pytest.mark.parametrize("size", [1e-9, 1e-11, 1e-13, 1e-15])
def test_very_weak_teacher_nodes_without_students_never_refute(size):
    star, net = exact_pair()
    star.W[1].data[0, 0] *= size
    net.W[1].data[0, [0, 4]] = 0
    assert rl.specialization.student_specialization(star, net, Box.around(3)).verdict is not Verdict.REFUTED


def test_constants_of_dead_students_are_not_ignored():
    star, net = exact_pair()
    wider = rl.MLP((3, net.widths[1] + 1, 5), dtype=torch.float64)
    wider.W[0].data[0, :, :-1], wider.b[0].data[0, 0, :-1] = net.W[0].data[0], net.b[0].data[0, 0]
    wider.b[0].data[0, 0, -1] = 1
    v = torch.arange(1.0, 6.0).double()
    wider.W[1].data[0], wider.b[1].data[0, 0] = torch.cat([net.W[1].data[0], v[None]]), net.b[1].data[0, 0] - v
    finding = rl.specialization.prunable_students(star, wider, Box.around(3))
    assert finding.verdict is Verdict.HOLDS and len(finding.conclusion) == 1


def test_networks_of_zeros_are_not_applicable():
    zero = rl.MLP((3, 4, 2), dtype=torch.float64)
    for theorem in (rl.specialization.student_specialization, rl.specialization.prunable_students):
        assert theorem(zero, zero, Box.around(3)).verdict is Verdict.NOT_APPLICABLE


@pytest.mark.parametrize("nodes", [
    Nodes(torch.tensor([[0.0, 1.0], [0.0, 0.0]]), torch.tensor([-0.9999, 1.0])),  # one without weights
    Nodes(torch.tensor([[1.0, 0.0], [1.0, 4e-12]]).double(), torch.zeros(2).double()),  # nearly one
    Nodes(torch.tensor([[1.0, 1.0]]).double(), torch.tensor([2 - 1e-13]).double()),  # cuts off next to nothing
])  # fmt: skip
def test_undecided_cases_are_not_refuted(nodes):
    verdict = rl.specialization.relu_independence(nodes, Box.around(nodes.w.shape[1])).verdict
    assert verdict in (Verdict.NOT_APPLICABLE, Verdict.INCONCLUSIVE)


def test_independence_does_not_depend_on_the_size_of_the_box():
    nodes = Nodes(torch.eye(3).double(), torch.tensor([0.1, 0.2, 0.3]).double())
    for size in (1.0, 1e6, 1e100):
        scaled = Nodes(nodes.w, nodes.b * size)
        assert rl.specialization.relu_independence(scaled, Box.around(3, size)).verdict is Verdict.HOLDS


@pytest.mark.parametrize(("bias", "verdict"), [(1.0, Verdict.HOLDS), (1e5, Verdict.INCONCLUSIVE)])
def test_rounding_that_hides_the_gradient_decides_nothing(bias, verdict):
    """Two students with a large bias cancel, and raise the rounding error of all gradients."""
    star, net = exact_pair()
    wide = rl.MLP((3, net.widths[1] + 2, 5), dtype=torch.float64)
    for new, old in zip((*wide.W, *wide.b), (*net.W, *net.b), strict=True):
        new.data[tuple(slice(0, n) for n in old.shape)] = old.data
    wide.W[0].data[0, 0, -2:], wide.b[0].data[0, 0, -2:] = 1.0, bias
    wide.W[1].data[0, -2], wide.W[1].data[0, -1] = 1.0, -1.0
    assert rl.specialization.student_specialization(star, wide, Box.around(3)).verdict is verdict
