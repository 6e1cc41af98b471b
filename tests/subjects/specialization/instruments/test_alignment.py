"""Alignment of nodes compared with angles, one by one."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import relulab as rl
from relulab.subjects.specialization import Nodes, alignment, regular


def naive(w_star, b_star, w, b) -> float:
    """One pair, with the angle from its cosine; accurate enough away from 0."""
    n_star, n = math.dist(w_star, [0] * len(w_star)), math.dist(w, [0] * len(w))
    cosine = sum(x * y for x, y in zip(w_star, w, strict=True)) / n_star / n
    sine = math.sqrt(max(0.0, 1 - cosine**2)) if cosine > 0 else 1.0
    return max(sine, abs(b_star / n_star - b / n))


def test_every_pair_as_defined():
    g = torch.Generator().manual_seed(0)
    w_star, w = torch.randn(4, 3, generator=g).double(), torch.randn(7, 3, generator=g).double()
    b_star, b = torch.randn(4, generator=g).double() / 5, torch.randn(7, generator=g).double() / 5
    errors = alignment(Nodes(w_star, b_star), Nodes(w, b))
    for j in range(4):
        for k in range(7):
            expected = naive(w_star[j].tolist(), float(b_star[j]), w[k].tolist(), float(b[k]))
            assert float(errors[j, k]) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("theta", [1e-2, 1e-6, 1e-9, 1e-12])
def test_small_angles_keep_their_digits(theta):
    w_star = torch.tensor([[1.0, 0.0]], dtype=torch.float64)
    w = torch.tensor([[math.cos(theta), math.sin(theta)]], dtype=torch.float64)
    zero = torch.zeros(1, dtype=torch.float64)
    assert float(alignment(Nodes(w_star, zero), Nodes(w, zero))) == pytest.approx(math.sin(theta), rel=1e-3)


@settings(deadline=None)
@given(st.floats(1e-150, 1e150))
def test_positive_rescaling_changes_nothing(scale):
    g = torch.Generator().manual_seed(1)
    w, b = torch.randn(3, 4, generator=g).double(), torch.randn(3, generator=g).double()
    nodes, scaled = Nodes(w, b), Nodes(w * scale, b * scale)
    torch.testing.assert_close(alignment(nodes, scaled), alignment(nodes, nodes), rtol=1e-9, atol=1e-9)
    assert torch.allclose(regular(scaled).w.norm(dim=1), torch.ones(3).double())


def test_the_other_side_and_no_side_are_not_aligned():
    w, b = torch.tensor([[1.0, 2.0], [0.0, 0.0]]), torch.tensor([0.5, 0.5])
    errors = alignment(Nodes(w, b), Nodes(-w, -b))
    assert float(errors[0, 0]) == 1 and errors[1].isinf().all() and errors[:, 1].isinf().all()
    assert regular(Nodes(w, b)).w[1].tolist() == [0, 0] and float(regular(Nodes(w, b)).b[1]) == 0


@pytest.mark.parametrize("slope", [0.0, 0.2])
def test_a_regularized_network_is_the_same_function(slope):
    net = rl.torch_default((4, 6, 5, 2), seeds=[0, 1], slope=slope, dtype=torch.float64)
    net.W[0].data[0, :, 2] = 0  # a node without weights
    same = rl.specialization.regularized(net)
    x = torch.randn(50, 4, dtype=torch.float64)
    torch.testing.assert_close(same(x), net(x))
    norms = same.W[0].data.norm(dim=1)
    assert float(norms[0, 2]) == 0 and float((norms[norms > 0] - 1).abs().max()) < 1e-14
    assert float((same.W[1].data.norm(dim=1) - 1).abs().max()) < 1e-14
    assert rl.specialization.regularized(net.module()).widths == net.widths


def test_a_pair_node_by_node():
    from relulab.subjects.specialization.measurements.measure_alignment import pair_rows
    from relulab.subjects.specialization.theorems.student_specialization import exact_pair

    star, net = exact_pair(flipped=True)
    x = rl.specialization.Box.around(3).draw(500, torch.Generator().manual_seed(0))
    pairs = pair_rows(star, net, x, band=0.2)
    rows = {row["node"]: row for row in pairs["nodes"]}
    assert [row["strength"] for row in pairs["nodes"]] == sorted((r["strength"] for r in rows.values()), reverse=True)
    assert pairs["gradient"] < 1e-12 and all(row["epsilon"] < 1e-12 for row in rows.values())
    assert not rows[0]["same_side"] and all(rows[j]["same_side"] for j in (1, 2, 3))
    nodes, mine, box = rl.specialization.lowest(star), rl.specialization.lowest(net), rl.specialization.Box.of(x)
    for j, row in rows.items():
        sees = rl.specialization.observers(rl.specialization.Nodes(nodes.w[j : j + 1], nodes.b[j : j + 1]), mine, *box)[
            0
        ]
        assert row["observers"] == int(sees.sum())
        near = (x @ nodes.w[j] + nodes.b[j]).abs() <= 0.2 * float(nodes.w[j].norm())
        assert row["band"] == int(near.sum())
        assert row["kappa"] == pytest.approx(float((x[near] @ mine.w.T + mine.b > 0).double().mean(0).max()))
    with pytest.raises(rl.UserError, match="at least d"):
        pair_rows(star, net, x[:3])
    with pytest.raises(rl.UserError, match="above 0"):
        pair_rows(star, net, x, band=0)


@pytest.mark.parametrize("either_side", [False, True])
def test_nearly_parallel_pairs_among_many_keep_their_digits(either_side):
    """Copies of nodes, turned by angles from 1e-12 to 0.5 in 50 dimensions, on either side, compared pair by pair."""
    g = torch.Generator().manual_seed(3)
    w = torch.nn.functional.normalize(torch.randn(9, 50, generator=g).double(), dim=1)
    normal = torch.randn(9, 50, generator=g).double()
    normal = torch.nn.functional.normalize(normal - (normal * w).sum(1, keepdim=True) * w, dim=1)
    theta = torch.logspace(-12, -0.3, 9, dtype=torch.float64)
    side = torch.tensor([1.0, -1.0, 1.0] * 3).double()
    turned = side[:, None] * (theta.cos()[:, None] * w + theta.sin()[:, None] * normal)
    zero = torch.zeros(9, dtype=torch.float64)
    errors = alignment(Nodes(w, zero), Nodes(turned, zero), either_side=either_side)
    expected = theta.sin() if either_side else torch.where(side > 0, theta.sin(), 1)
    torch.testing.assert_close(errors.diagonal(), expected, rtol=1e-3, atol=1e-15)
    far = ~torch.eye(9, dtype=torch.bool)
    sides = (1, -1) if either_side else (1,)
    naive_errors = [[min(naive(a, 0, (s * b).tolist(), 0) for s in sides) for b in turned] for a in w.tolist()]
    torch.testing.assert_close(errors[far], torch.tensor(naive_errors, dtype=torch.float64)[far], rtol=1e-12, atol=0)


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_a_node_whose_weights_are_not_finite_has_an_error_of_nan(value):
    """It once had the error 1, as if it were known to be far from the others."""
    nodes = Nodes(torch.tensor([[value, 1.0], [1.0, 0.0]]), torch.zeros(2))
    for either_side in (False, True):
        errors = alignment(Nodes(torch.eye(2), torch.zeros(2)), nodes, either_side=either_side)
        assert errors[:, 0].isnan().all() and errors[:, 1].tolist() == [0.0, 1.0]
