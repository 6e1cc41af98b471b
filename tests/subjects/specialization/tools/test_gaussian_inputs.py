"""Which points can be a sample of N(0, σ² I)."""

import numpy as np
import pytest
import torch

from relulab import UserError
from relulab.subjects.specialization.tools.gaussian_inputs import gaussian_inputs

rng = np.random.default_rng(0)
W = torch.from_numpy(rng.standard_normal((4, 3)))
NORMAL = rng.standard_normal((5000, 3))


@pytest.mark.parametrize("std", [1e-3, 1.0, 50.0])
def test_normal_points_pass_and_their_scale_is_found(std):
    found, checks = gaussian_inputs(torch.from_numpy(std * NORMAL), W)
    assert found == pytest.approx(std, rel=0.03) and all(c.holds for c in checks)


def test_normal_points_rarely_fail():
    failed = [
        not all(c.holds for c in gaussian_inputs(torch.from_numpy(rng.standard_normal((300, 3))), W)[1])
        for _ in range(200)
    ]
    assert sum(failed) <= 4


@pytest.mark.parametrize(
    ("points", "failed"),
    [
        (NORMAL + 0.1, "means"),
        (NORMAL * [1, 1, 1.1], "mean squares"),
        (NORMAL @ (np.eye(3) + 0.1), "mean products"),
        (rng.uniform(-1, 1, (5000, 3)), "Fourth moments"),
        (rng.exponential(size=(5000, 3)) - 1, "Third moments"),
        (rng.choice([-1.0, 1.0], (5000, 3)), "Fourth moments"),
    ],
)
def test_other_points_fail(points, failed):
    _, checks = gaussian_inputs(torch.from_numpy(points), W)
    assert any(failed in c.says and c.holds is False for c in checks)


def test_wrong_points():
    for wrong in (torch.zeros(1, 3), torch.zeros(5, 3), torch.full((5, 3), torch.nan)):
        with pytest.raises(UserError):
            gaussian_inputs(wrong, W)
