"""Angles of all pairs keep their digits near 0 and π."""

import math

import pytest
import torch

from relulab.subjects.specialization.tools.pair_angles import pair_angles


@pytest.mark.parametrize("angle", [1e-9, 1e-3, 0.5, math.pi / 2, 3.0, math.pi - 1e-9])
def test_an_angle_in_a_random_plane_is_found(angle):
    Q = torch.linalg.qr(torch.randn(5, 5, dtype=torch.float64, generator=torch.Generator().manual_seed(1))).Q
    u, v = Q[0], math.cos(angle) * Q[0] + math.sin(angle) * Q[1]
    found = pair_angles(u[None], torch.stack([v, Q[2]]))
    assert found[0, 0].item() == pytest.approx(angle, rel=1e-6, abs=1e-15)
    assert found[0, 1].item() == pytest.approx(math.pi / 2)


def test_lanes():
    u = torch.nn.functional.normalize(torch.randn(2, 3, 4).double(), dim=-1)
    v = torch.nn.functional.normalize(torch.randn(2, 5, 4).double(), dim=-1)
    angles = pair_angles(u, v)
    assert angles.shape == (2, 3, 5)
    torch.testing.assert_close(angles[1], pair_angles(u[1], v[1]))
