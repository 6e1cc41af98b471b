"""Creases compared with loops over nodes, and the largest gradient compared with dense sampling."""

import pytest
import torch

import relulab as rl
from relulab.subjects.specialization.theorems.student_specialization import exact_pair
from relulab.subjects.specialization.tools.creases import creases, gradient_at, largest_gradient
from relulab.subjects.specialization.tools.vertices import exact_gradient, vertex_count


def random_pair(d: int, m: int, n: int, seed: int, C: int = 3, slopes=(0.0, 0.0)) -> tuple[rl.MLP, rl.MLP]:
    return tuple(
        rl.torch_default((d, k, C), seeds=[seed + i], slope=slopes[i], dtype=torch.float64)
        for i, k in enumerate((m, n))
    )


def test_nodes_on_one_hyperplane_share_a_crease_on_either_side():
    star, net = exact_pair(flipped=True)
    pair = creases(star, net, rl.specialization.Box.around(3))
    w, b = (t.double() for t in rl.specialization.lowest(net))
    for k in range(len(b)):
        for other in range(len(b)):
            same = torch.linalg.matrix_rank(torch.stack([torch.cat([w[i], b[i : i + 1]]) for i in (k, other)])) == 1
            assert (pair.of[k] == pair.of[other]) == same
    for s in range(len(pair.bend)):
        bend = sum((net.W[1].data[0, k] * w[k].norm() for k in range(len(b)) if pair.of[k] == s), torch.zeros(5))
        torch.testing.assert_close(pair.bend[s], bend.double())


def gradients(star, net, x):
    """g_1 point by point and node by node."""
    rows = []
    for point in x:
        h = (star(point[None]) - net(point[None]))[0, 0]
        inputs = point @ net.W[0][0] + net.b[0][0, 0]
        rows.append(torch.stack([h @ net.W[1][0, k] * (1 if inputs[k] > 0 else net.slope) for k in range(len(inputs))]))
    return torch.stack(rows).detach()


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("slopes", [(0.0, 0.0), (0.3, 0.0), (0.1, 0.4)])
def test_the_largest_gradient_on_a_box_is_exact_and_bounded(seed, slopes):
    star, net = random_pair(2, 3, 4, 10 * seed, slopes=slopes)
    box = rl.specialization.Box.around(2)
    pair = creases(star, net, box)
    x = box.draw(300, torch.Generator().manual_seed(seed))
    torch.testing.assert_close(gradient_at(star, net, x)[0], gradients(star, net, x))
    side = torch.linspace(-1, 1, 401, dtype=torch.float64)
    grid = torch.cartesian_prod(side, side)
    dense, exact, bound = (
        gradient_at(star, net, grid)[0].abs().amax(0),
        exact_gradient(pair),
        largest_gradient(pair)[0],
    )
    # between grid points, at most √2/400 away, the function changes by its slope at most
    slopes = sum(net_.W[0][0].norm(dim=0) @ (net_.W[1][0] @ net.W[1][0].T).abs() for net_ in (star, net)).detach()
    assert (dense <= exact + 1e-12).all() and (exact <= dense + slopes * 0.0036 + 1e-12).all()
    assert (exact <= bound + 1e-12).all()


def test_three_dimensions_and_too_many_vertices():
    star, net = random_pair(3, 2, 3, 5)
    box = rl.specialization.Box.around(3)
    pair = creases(star, net, box)
    x = box.draw(200_000, torch.Generator().manual_seed(0))
    sampled, exact = gradient_at(star, net, x)[0].abs().amax(0), exact_gradient(pair)
    assert (sampled <= exact + 1e-12).all() and (exact <= 1.15 * sampled + 1e-3).all()
    assert exact_gradient(creases(*random_pair(12, 10, 30, 1), rl.specialization.Box.around(12))) is None
    assert vertex_count(1, 1) == 3  # a point on a line, and its two ends


def test_only_a_zero_gradient_is_within_the_allowance():
    for flipped in (False, True):
        star, net = exact_pair(flipped=flipped)
        bound, allowance = largest_gradient(creases(star, net, rl.specialization.Box.around(3)))
        assert (bound <= allowance).all() and (allowance < 1e-9).all()
        net.W[1].data[0, 3, 2] += 1e-8
        bound, allowance = largest_gradient(creases(star, net, rl.specialization.Box.around(3)))
        assert (bound > allowance).any()


def test_students_that_are_never_active_have_no_gradient():
    star, net = random_pair(2, 3, 4, 1)
    net.b[0].data.fill_(-100)
    assert float(largest_gradient(creases(star, net, rl.specialization.Box.around(2)))[0].max()) == 0
    assert float(exact_gradient(creases(star, net, rl.specialization.Box.around(2))).max()) == 0


@pytest.mark.parametrize("widths", [(4, 3, 3), (3, 4, 2), (3, 4, 4, 3)])
def test_networks_that_do_not_fit_raise_an_error(widths):
    other = rl.torch_default(widths, seeds=[0], dtype=torch.float64)
    with pytest.raises(rl.UserError, match=r"must agree|two-layer"):
        creases(rl.torch_default((3, 4, 3), seeds=[0], dtype=torch.float64), other, rl.specialization.Box.around(3))


def test_boxes_that_do_not_fit_raise_an_error():
    for box in (
        rl.specialization.Box.around(2),
        rl.specialization.Box(torch.zeros(3), torch.zeros(3)),
        rl.specialization.Box.around(3, 1e308),
    ):
        with pytest.raises(rl.UserError, match=r"low < high|only one value"):
            creases(*exact_pair(), box)
    for x in (torch.zeros(0, 3), torch.zeros(3)):
        with pytest.raises(rl.UserError, match="at least one"):
            rl.specialization.Box.of(x)


def test_a_node_that_only_touches_the_box_is_not_active():
    star = built([[1.0, 0.0]], [0.1], [[1.0]])
    for w, b in (([1.0, 1.0], -2.0), ([0.0, 2.0], -2.0), ([0.0, 0.0], 0.0)):
        pair = creases(star, built([w], [b], [[1.0]]), rl.specialization.Box.around(2))
        assert float(exact_gradient(pair).max()) == float(largest_gradient(pair)[0].max()) == 0


def built(w, b, v, c=None) -> rl.MLP:
    w, b, v = (torch.tensor(t, dtype=torch.float64) for t in (w, b, v))
    net = rl.MLP((w.shape[1], len(w), v.shape[1]), dtype=torch.float64)
    net.W[0].data[0], net.b[0].data[0, 0], net.W[1].data[0] = w.T, b, v
    if c is not None:
        net.b[1].data[0, 0] = torch.tensor(c, dtype=torch.float64)
    return net


def test_creases_that_only_touch_the_box_are_not_observed():
    star = built([[1.0, 0.0], [0.0, 1.0]], [0.1, 0.2], [[1.0], [1.0]])
    student = built(
        [[1.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 0.0]], [0.1, 0.2, 1.0, 5.0], [[1.0], [1.0], [1.0], [-1.0]], [4.0]
    )
    bound, allowance = largest_gradient(creases(star, student, rl.specialization.Box.around(2)))
    assert (bound <= allowance).all()
    assert (
        rl.specialization.student_specialization(star, student, rl.specialization.Box.around(2)).verdict
        is rl.Verdict.HOLDS
    )
