"""Students that start near their teacher: by loops, at the extremes, and lane by lane."""

import numpy as np
import pytest
import torch

from relulab import UserError
from relulab.subjects.specialization import luck_teacher, start_near


def students(p_W, p_V, seeds=(0,), width=7):
    star = luck_teacher((6, 3, 4), seeds=seeds)
    return star, start_near(star, width, p_W=p_W, p_V=p_V, seeds=seeds, dtype=torch.float64)


def test_every_node_has_norm_one_and_every_output_as_well():
    _, net = students(0.7, 1.3)
    torch.testing.assert_close(net.W[0].data.norm(dim=1), torch.ones(1, 7).double())
    torch.testing.assert_close(net.W[1].data.norm(dim=1), torch.ones(1, 4).double())
    assert all(not b.data.any() for b in net.b)


@pytest.mark.parametrize("p", [0.3, 3.0])
def test_noise_and_teacher_are_added_after_both_have_norm_one(p):
    star, near = students(p, p)
    _, noise = students(0.0, 0.0)
    for j in range(7):
        w = noise.W[0].data[0, :, j].numpy() + (p * star.W[0].data[0, :, j].numpy() if j < 3 else 0)
        np.testing.assert_allclose(near.W[0].data[0, :, j].numpy(), w / np.linalg.norm(w))
    for c in range(4):
        v = noise.W[1].data[0, :, c].numpy().copy()
        v[:3] += p * star.W[1].data[0, :, c].numpy()
        np.testing.assert_allclose(near.W[1].data[0, :, c].numpy(), v / np.linalg.norm(v))


def test_large_factors_start_at_the_teacher_and_others_get_small_fan_outs():
    star, near = students(1e9, 1e9)
    torch.testing.assert_close(near.W[0].data[..., :3], star.W[0].data, rtol=0, atol=1e-8)
    torch.testing.assert_close(near.W[1].data[:, :3], star.W[1].data, rtol=0, atol=1e-8)
    assert near.W[1].data[:, 3:].norm() < 1e-8


def test_a_lane_depends_on_its_seed_and_factors_only():
    _, together = students([0.1, 2.0, 2.0], [0.5, 0.5, 0.5], seeds=(3, 3, 4))
    for i, (seed, p_W) in enumerate(((3, 0.1), (3, 2.0), (4, 2.0))):
        _, alone = students(p_W, 0.5, seeds=(seed,))
        assert torch.equal(together.W[0].data[i], alone.W[0].data[0])
    assert torch.equal(together.W[0].data[0, :, 3:], together.W[0].data[1, :, 3:])
    assert not torch.equal(together.W[0].data[1, :, 3:], together.W[0].data[2, :, 3:])


def test_wrong_arguments():
    star = luck_teacher((6, 3, 4), seeds=[0])
    for wrong in ({"width": 2}, {"seeds": [0, 1]}, {"p_W": [1.0, 2.0]}, {"p_V": -1.0}):
        with pytest.raises(UserError):
            start_near(star, **{"width": 5, "p_W": 1.0, "p_V": 1.0, "seeds": [0]} | wrong)
