"""The augmentations of definition 7 compared with loops, and their errors."""

import numpy as np
import pytest
import torch

from relulab import MLP, UserError, small_normal
from relulab.subjects.specialization import Nodes, lowest, teacher_agnostic, teacher_aware

DTYPES = [torch.float16, torch.float32, torch.float64]


def cloud(N: int = 40, d: int = 4, dtype=torch.float64) -> torch.Tensor:
    return torch.randn(N, d, generator=torch.Generator().manual_seed(0), dtype=torch.float64).to(dtype)


def planes(m: int = 3, d: int = 4) -> Nodes:
    """Nodes of any length, so that scaling to ‖w̃‖ = 1 matters."""
    rng = np.random.default_rng(1)
    return Nodes(torch.from_numpy(3 * rng.normal(size=(m, d))), torch.from_numpy(rng.normal(size=m)))


def agnostic_by_loops(x: np.ndarray, step: float) -> tuple[list, list]:
    points, rows = [*x], [*range(len(x))]
    for i, point in enumerate(x):
        for sign in (1, -1):
            for u in range(x.shape[1]):
                moved = point.copy()
                moved[u] += sign * step
                points, rows = [*points, moved], [*rows, i]
    return points, rows


def aware_by_loops(x: np.ndarray, nodes: Nodes, step: float, band: float) -> tuple[list, list]:
    points, rows = [*x], [*range(len(x))]
    for w, b in zip(nodes.w.numpy(), nodes.b.numpy(), strict=True):
        length = np.sqrt((w**2).sum())
        for i, point in enumerate(x):
            if abs(point @ w + b) / length <= band:
                points += [point + step * w / length, point - step * w / length]
                rows += [i, i]
    return points, rows


def test_teacher_agnostic_equals_loops():
    x = cloud()
    augmented, (points, rows) = teacher_agnostic(x, 0.3), agnostic_by_loops(x.numpy(), 0.3)
    assert augmented.x.shape == ((2 * 4 + 1) * 40, 4) and augmented.row.tolist() == rows
    np.testing.assert_allclose(augmented.x, np.array(points), atol=1e-15)


@pytest.mark.parametrize("band", [0.0, 0.2, 1.0, 100.0])
def test_teacher_aware_equals_loops(band):
    x, nodes = cloud(), planes()
    augmented, (points, rows) = teacher_aware(x, nodes, 0.3, band), aware_by_loops(x.numpy(), nodes, 0.3, band)
    assert augmented.row.tolist() == rows and len(rows) == {0.0: 40, 100.0: 40 * 7}.get(band, len(rows))
    np.testing.assert_allclose(augmented.x, np.array(points), atol=1e-14)


def test_by_default_every_point_of_the_band_gets_a_neighbor_on_the_other_side():
    x, nodes, step = cloud(), planes(m=1), 0.8
    augmented = teacher_aware(x, nodes, step)
    input_ = augmented.x @ nodes.w[0] + nodes.b[0]
    pairs = input_[len(x) :].reshape(-1, 2)
    assert len(pairs) == int((input_[: len(x)].abs() / nodes.w[0].norm() <= step / 2).sum()) > 5
    assert bool((pairs[:, 0] > 0).all() and (pairs[:, 1] < 0).all())


def test_rescaled_nodes_give_the_same_augmentation():
    x, nodes = cloud(), planes()
    twice = Nodes(4 * nodes.w, 4 * nodes.b)
    a, b = (teacher_aware(x, n, 0.5, 0.4) for n in (nodes, twice))
    torch.testing.assert_close(a.x, b.x)
    assert torch.equal(a.row, b.row) and len(a.row) > len(x)


@pytest.mark.parametrize("dtype", DTYPES)
def test_points_keep_their_dtype_and_given_points_do_not_change(dtype):
    x = cloud(dtype=dtype)
    for augmented in (teacher_agnostic(x, 0.1), teacher_aware(x, planes(), 0.1, 5.0)):
        assert augmented.x.dtype == dtype and torch.equal(augmented.x[: len(x)], x) and len(augmented.x) > len(x)
    assert teacher_agnostic(x.numpy(), 0.1).x.dtype == dtype


def test_labels_follow_their_points():
    x = cloud()
    label = (x[:, 0] > 0).long()
    for augmented in (teacher_agnostic(x, 1e-6), teacher_aware(x, planes(), 1e-6, 5.0)):
        assert torch.equal(label[augmented.row], (augmented.x[:, 0] > 0).long())


def test_each_lane_of_a_teacher_can_be_used():
    nets = small_normal((4, 3, 2), [0, 1])
    a, b = (teacher_aware(cloud(), lowest(nets, lane), 0.1, 1.0) for lane in (0, 1))
    assert not torch.equal(a.x[40:42], b.x[40:42])


@pytest.mark.parametrize("step", [0.0, -1.0, float("nan"), float("inf")])
def test_steps_must_be_above_zero(step):
    for augment in (lambda: teacher_agnostic(cloud(), step), lambda: teacher_aware(cloud(), planes(), step, 1.0)):
        with pytest.raises(UserError, match=r"expected a step above 0|expected step to be a number, got nan"):
            augment()


@pytest.mark.parametrize("x, message", [
    (torch.full((2, 4), torch.nan), "NaN or infinite values in 8 of 8 entries"),
    (torch.zeros(4), r"points have shape \(4,\)"),
    (torch.zeros(0, 4), r"points have shape \(0, 4\)"),
    (torch.zeros(2, 4, dtype=torch.int64), "int64"),
])  # fmt: skip
def test_wrong_points_raise_an_error(x, message):
    for augment in (lambda: teacher_agnostic(x, 0.1), lambda: teacher_aware(x, planes(), 0.1, 1.0)):
        with pytest.raises(UserError, match=message):
            augment()


def test_wrong_nodes_and_bands_raise_an_error():
    nodes = planes()
    dead = Nodes(nodes.w * torch.tensor([[1.0], [0.0], [1.0]]), nodes.b)
    for wrong, message in [
        (dead, "zero weights and so no boundary, the first is node 1"),
        (planes(d=5), "expected points of 5 entries"),
        (Nodes(nodes.w / 0, nodes.b), "NaN or infinite"),
        (Nodes(nodes.w[None], nodes.b[None]), "of one network, as returned by lowest"),
    ]:
        with pytest.raises(UserError, match=message):
            teacher_aware(cloud(), wrong, 0.1, 1.0)
    with pytest.raises(UserError, match="2 of 2 nodes have zero weights"):
        teacher_aware(cloud(), lowest(MLP((4, 2, 1))), 0.1, 1.0)
    with pytest.raises(UserError, match="at least 0"):
        teacher_aware(cloud(), nodes, 0.1, -1.0)
