"""SS.L1: holds up to rounding on random networks, and wrong variants are refuted."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from relulab import MLP, UserError, Verdict, torch_default
from relulab.subjects.specialization import gradient_rule

DEPTHS = st.integers(2, 6)


@settings(max_examples=60, deadline=None)
@given(depth=DEPTHS, bias=st.booleans(), slope=st.sampled_from([0.0, 0.01, 0.3]), data=st.data())
def test_equals_autograd_to_1e_10_on_random_nets(depth, bias, slope, data):
    widths = [data.draw(st.lists(st.integers(1, 12), min_size=depth - 1, max_size=depth - 1)) for _ in range(2)]
    seed = data.draw(st.integers(0, 10**6))
    teacher, student = (
        torch_default((7, *w, 4), seeds=[seed + i], bias=bias, slope=slope, dtype=torch.float64)
        for i, w in enumerate(widths)
    )
    x = torch.randn(50, 7, dtype=torch.float64, generator=torch.Generator().manual_seed(seed)) * 3
    finding = gradient_rule(teacher, student, x)
    assert finding.verdict is Verdict.HOLDS
    assert len(finding.conclusion) == depth + 1  # one per layer, and that A, B and V are piecewise constant
    assert max(c.measured for c in finding.conclusion) <= 1e-10


def per_node(teacher: MLP, student: MLP, x: torch.Tensor) -> list[torch.Tensor]:
    """g_1 node by node and point by point, with the sums of the rule written out: a second way to the same numbers."""
    T, S = ([W.data[0] for W in net.W] for net in (teacher, student))
    bT, bS = ([b.data[0, 0] for b in net.b] for net in (teacher, student))
    rows = []
    for point in x:
        f_star, f = (torch.relu(point @ W[0] + b[0]) for W, b in ((T, bT), (S, bS)))
        # depth 2: v_j is row j of the top weights, and the bias unit's v is the output bias
        g = []
        for k in range(S[0].shape[1]):
            pull = sum((S[1][k] @ T[1][j]) * f_star[j] for j in range(len(f_star))) + S[1][k] @ bT[1]
            push = sum((S[1][k] @ S[1][j]) * f[j] for j in range(len(f))) + S[1][k] @ bS[1]
            g.append((pull - push) * (point @ S[0][:, k] + bS[0][k] > 0))
        rows.append(torch.stack(g))
    return torch.stack(rows)


def test_two_layers_node_by_node():
    from relulab.subjects.specialization.theorems.gradient_rule import back_propagated

    teacher, student = (torch_default((3, n, 2), seeds=[n], dtype=torch.float64) for n in (4, 6))
    x = torch.randn(8, 3, dtype=torch.float64)
    torch.testing.assert_close(back_propagated(teacher, student, x)[0][0], per_node(teacher, student, x))


def test_plain_modules_and_float32_are_accepted_and_not_changed():
    teacher, student = (torch_default((3, n, 2), seeds=[n]).module() for n in (4, 6))
    before = [p.clone() for p in student.parameters()]
    assert gradient_rule(teacher, student, torch.randn(8, 3)).verdict is Verdict.HOLDS
    assert all(
        torch.equal(a, b) and b.dtype == torch.float32 for a, b in zip(before, student.parameters(), strict=True)
    )


def test_many_points_are_split(monkeypatch):
    teacher, student = (torch_default((3, n, 2), seeds=[n]) for n in (4, 6))
    x = torch.randn(40, 3, dtype=torch.float64)
    at_once = gradient_rule(teacher, student, x)
    monkeypatch.setattr("relulab.subjects.specialization.theorems.gradient_rule.ENTRIES", 200)
    parts = gradient_rule(teacher, student, x)
    assert parts.verdict is at_once.verdict is Verdict.HOLDS
    assert [c.error for c in parts.conclusion] == pytest.approx([c.error for c in at_once.conclusion])


@pytest.mark.parametrize("widths", [(5, 4, 4, 2), (5, 4, 3)])
def test_other_depth_or_other_outputs_are_not_applicable(widths):
    teacher, student = torch_default((5, 3, 2), seeds=[0]), torch_default(widths, seeds=[1])
    assert gradient_rule(teacher, student, torch.randn(4, 5)).verdict is Verdict.NOT_APPLICABLE


def test_slopes_may_differ():
    teacher, student = torch_default((5, 3, 2), seeds=[0]), torch_default((5, 4, 2), seeds=[1], slope=0.2)
    assert gradient_rule(teacher, student, torch.randn(40, 5)).verdict is Verdict.HOLDS


def test_one_far_point_does_not_hide_a_wrong_rule():
    """Each point has its own allowance. The allowance of a point at 1e15 would hide any error at the others."""
    teacher, student = (torch_default((3, n, 2), seeds=[n], dtype=torch.float64) for n in (4, 6))
    x = torch.cat([torch.randn(200, 3, dtype=torch.float64), torch.full((1, 3), 1e15, dtype=torch.float64)])
    assert gradient_rule(teacher, student, x).verdict is Verdict.HOLDS
    assert gradient_rule(teacher, student, x, gated=False).verdict is Verdict.REFUTED


def test_lanes_must_match():
    one, three = torch_default((3, 4, 2), seeds=[0]), torch_default((3, 4, 2), seeds=[1, 2, 3])
    x = torch.randn(10, 3)
    assert gradient_rule(one, three, x).verdict is gradient_rule(three, three, x).verdict is Verdict.HOLDS
    with pytest.raises(UserError, match="3 teachers for 1 students"):
        gradient_rule(three, one, x)
    with pytest.raises(UserError, match="at least one point"):
        gradient_rule(one, one, x[:0])


def test_points_of_another_dimension_raise_an_error():
    net = torch_default((5, 3, 2), seeds=[0])
    with pytest.raises(UserError, match="must agree"):
        gradient_rule(net, net, torch.randn(4, 6))
