"""Angles in NumPy and torch: compared with arccos where that is accurate, and with known angles elsewhere."""

import numpy as np
import pytest
import torch

from relulab.core.angle import angles, directions, norms, unit_angle
from relulab.core.errors import UserError


@pytest.mark.parametrize("theta", [1e-9, 0.3, np.pi / 2, np.pi - 1e-9])
def test_angles_keep_their_accuracy_at_both_ends(theta):
    W, w = 7 * np.array([[np.cos(theta), np.sin(theta)]]), np.array([0.2, 0.0])
    assert angles(W, w)[0] == pytest.approx(theta, rel=1e-15, abs=1e-24)
    tensor = unit_angle(*directions(W, w))[0].item()
    assert tensor == pytest.approx(theta, rel=1e-15, abs=1e-24)
    assert unit_angle(*directions(W, w), lines=True)[0].item() == pytest.approx(min(theta, np.pi - theta), rel=1e-6)


def test_numpy_and_torch_agree_with_the_arccos():
    rng = np.random.default_rng(0)
    U, v = rng.standard_normal((4, 3, 5)), rng.standard_normal(5)
    cosine = U @ v / np.linalg.norm(U, axis=-1) / np.linalg.norm(v)
    np.testing.assert_allclose(angles(U, v), np.arccos(cosine), rtol=1e-12)
    for lines, expected in ((False, np.arccos(cosine)), (True, np.arccos(abs(cosine)))):
        u = directions(U, v)
        np.testing.assert_allclose(unit_angle(*u, lines=lines), expected, rtol=1e-12)
        np.testing.assert_allclose(unit_angle(*(t.numpy() for t in u), lines=lines), expected, rtol=1e-12)
    assert np.abs(angles(U, -v) - angles(U, v)).max() > 0.1


def test_norms_of_both():
    W = np.random.default_rng(1).standard_normal((2, 3, 4))
    np.testing.assert_allclose(norms(W), np.sqrt((W**2).sum(-1)))
    torch.testing.assert_close(norms(torch.from_numpy(W)), torch.from_numpy(W).square().sum(-1).sqrt())


@pytest.mark.parametrize(("u", "v", "says"), [
    (np.ones((2, 3)), np.ones(2), r"shapes that broadcast, got \(2, 3\) and \(2,\)"),
    (np.ones((2, 1)), np.ones(2), r"same number of entries, got shapes \(2, 1\) and \(2,\)"),
    (np.zeros(2), np.ones(2), "but 1 of 1 are zero or contain NaN"),
    (np.array([[np.nan, 1.0], [1.0, 1.0]]), np.ones(2), "but 1 of 2 are zero or contain NaN"),
])  # fmt: skip
def test_vectors_without_a_direction_are_refused(u, v, says):
    with pytest.raises(UserError, match=says):
        directions(u, v)
