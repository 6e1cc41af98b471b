"""Paths between students: losses by hand, the example of SS appendix E, and any permutation of nodes."""

import math

import numpy as np
import pytest
import torch

from relulab import MLP, UserError, torch_default
from relulab.subjects.specialization import connect, prune
from relulab.subjects.specialization.tools.hand_over import Slots, hand_overs


def points(N=60, d=3):
    return torch.randn(N, d, generator=torch.Generator().manual_seed(0), dtype=torch.float64)


def with_slots(star: MLP, slots, n: int, seed: int) -> MLP:
    """A student with the teacher's nodes in these slots and random nodes without fan-out in the others."""
    net = torch_default((star.widths[0], n, star.widths[-1]), seeds=[seed], dtype=torch.float64)
    net.W[1].data.zero_()
    for j, slot in enumerate(slots):
        net.W[0].data[0, :, slot], net.b[0].data[0, 0, slot] = star.W[0].data[0, :, j], star.b[0].data[0, 0, j]
        net.W[1].data[0, slot] = star.W[1].data[0, j]
    net.b[1].data.copy_(star.b[1].data)
    return net


def loss_by_hand(p: MLP, q: MLP, t: float, x, y) -> float:
    """The mean squared error at the point (1 − t) p + t q, with plain loops over points and nodes."""
    W, b, V, c = (
        ((1 - t) * s[0].data[0] + t * r[0].data[0]).numpy()
        for s, r in ((p.W[:1], q.W[:1]), (p.b[:1], q.b[:1]), (p.W[1:], q.W[1:]), (p.b[1:], q.b[1:]))
    )
    total = 0.0
    for i in range(len(x)):
        out = c[0].copy()
        for k in range(W.shape[1]):
            out += max(0.0, float(x[i].numpy() @ W[:, k] + b[0, k])) * V[k]
        total += float(((out - y[i].numpy()) ** 2).sum())
    return total / (len(x) * y.shape[1])


def test_losses_along_path_and_line_by_hand():
    a, b = (torch_default((3, 5, 2), seeds=[s], dtype=torch.float64) for s in (1, 2))
    x = points()
    y = torch_default((3, 2, 2), seeds=[0], dtype=torch.float64)(x)[0].detach()
    found = connect(a, b, x, y, steps=2)
    for i in range(len(found.moves)):
        for half in (0, 1):
            by_hand = loss_by_hand(found.nets[i], found.nets[i + 1], half / 2, x, y)
            assert float(found.path[2 * i + half]) == pytest.approx(by_hand, rel=1e-9)
    for i in (0, 1, len(found.line) // 2, len(found.line) - 1):
        by_hand = loss_by_hand(a, b, i / (len(found.line) - 1), x, y)
        assert float(found.line[i]) == pytest.approx(by_hand, rel=1e-9)
    for net, end in ((a, found.nets[0]), (b, found.nets[-1])):
        assert all(torch.equal(p, q) for p, q in zip(net.parameters(), end.parameters(), strict=True))
    # on segments either the output is constant or linear, so nothing exceeds the corners
    assert float(found.path.max()) <= float(found.corners.max()) * (1 + 1e-12)


def test_the_example_of_appendix_e():
    star, x = torch_default((3, 2, 2), seeds=[0], dtype=torch.float64), points()
    a, b = with_slots(star, (0, 1), 3, 1), with_slots(star, (2, 1), 3, 2)
    found = connect(a, b, x, star(x)[0].detach())
    assert found.moves == ["copy", "hand over", "copy"] and found.keep == (2,)
    assert float(found.path.max()) < 1e-25 and float(found.line.max()) > 0.01 * found.constant
    c, d = found.nets[1:3]
    assert torch.equal(c.W[0][0, :, 2], star.W[0][0, :, 0]) and not d.W[1][0, 0].any()


@pytest.mark.parametrize("order", [(1, 0, 2), (1, 2, 0), (2, 3, 0), (0, 1, 2), (3, 2, 1)])
def test_any_order_of_nodes_with_one_silent_slot(order):
    star, x = torch_default((3, 3, 2), seeds=[0], dtype=torch.float64), points()
    a, b = with_slots(star, (0, 1, 2), 4, 1), with_slots(star, order, 4, 2)
    found = connect(a, b, x, star(x)[0].detach(), keep=3)
    assert float(found.path.max()) < 1e-25
    for net, end in ((a, found.nets[0]), (b, found.nets[-1])):
        assert all(torch.equal(p, q) for p, q in zip(net.parameters(), end.parameters(), strict=True))


def test_merging_of_co_linear_nodes():
    star, x = torch_default((3, 2, 2), seeds=[0], dtype=torch.float64), points()
    a, b = with_slots(star, (0, 1), 5, 1), with_slots(star, (4, 3), 5, 2)
    a.W[0].data[0, :, 2], a.b[0].data[0, 0, 2] = 3 * a.W[0].data[0, :, 0], 3 * a.b[0].data[0, 0, 0]
    a.W[1].data[0, 2] = a.W[1].data[0, 0] / 6
    a.W[1].data[0, 0] /= 2
    found = connect(a, b, x, star(x)[0].detach(), keep=2)
    assert found.moves[0] == "merge" and float(found.path.max()) < 1e-25


def test_nodes_without_a_partner_come_and_go():
    rng = np.random.default_rng(0)
    a, b = (Slots(*(torch.from_numpy(rng.standard_normal(s)) for s in ((4, 3), (4, 2), (2,)))) for _ in range(2))
    a.v[[1, 3]], b.v[[0, 1, 3]] = 0, 0
    *_, (_, end) = hand_overs(a, b, [(0, 2), (2, None)])
    assert all(map(torch.equal, end, b))
    *_, (_, end) = hand_overs(b, a, [(2, 0), (None, 2)])
    assert all(map(torch.equal, end, a))


def test_classes_and_entropy():
    a, b = (torch_default((3, 4, 3), seeds=[s], dtype=torch.float64) for s in (1, 2))
    x, y = points(), torch.arange(60) % 3
    found = connect(a, b, x, y)
    expected = torch.nn.functional.cross_entropy(a(x)[0].detach(), y)
    assert found.ends[0] == pytest.approx(float(expected)) and found.constant == pytest.approx(math.log(3))


def test_equal_networks_and_refusals():
    a, x = torch_default((3, 4, 2), seeds=[1], dtype=torch.float64), points()
    found = connect(a, a, x, a(x)[0].detach())
    assert not found.moves and float(found.path.max()) == float(found.line.max()) == 0
    for other, y, message in (
        (torch_default((3, 5, 2), seeds=[1]), a(x)[0], "same shape"),
        (torch_default((3, 4, 2), seeds=[1], slope=0.1), a(x)[0], "ReLU"),
        (a, torch.zeros(60, 3), "targets"),
    ):
        with pytest.raises(UserError, match=message):
            connect(a, other, x, y.detach())
    with pytest.raises(UserError, match="to keep"):
        connect(a, a, x, a(x)[0].detach(), keep=4)


def test_near_copies_do_not_hide_the_nodes_that_are_needed():
    """Backward elimination among many nearly dependent nodes keeps one of each kind."""
    star, x = torch_default((6, 4, 3), seeds=[0], dtype=torch.float64), points(400, 6)
    rng = torch.Generator().manual_seed(1)
    net = MLP((6, 48, 3), dtype=torch.float64)
    for k in range(48):
        noise = 10.0 ** -(2 + k % 5) * torch.randn(6, generator=rng, dtype=torch.float64)
        net.W[0].data[0, :, k] = star.W[0].data[0, :, k % 4] + noise
        net.b[0].data[0, 0, k], net.W[1].data[0, k] = star.b[0].data[0, 0, k % 4], star.W[1].data[0, k % 4] / 12
    assert prune(net, x, epsilon=0.0, keep=4).lost < 1e-4
