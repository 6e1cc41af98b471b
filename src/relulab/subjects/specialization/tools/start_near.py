"""Students whose first nodes start near the nodes of their teacher (LM section 4.2)."""

from collections.abc import Sequence

import numpy as np
import torch

from relulab.core.errors import UserError
from relulab.core.ranges import at_least
from relulab.core.seeds import Role, check_seeds, stream
from relulab.nets.mlp import MLP


def start_near(
    teacher: MLP,
    width: int,
    *,
    p_W: float | Sequence[float],
    p_V: float | Sequence[float],
    seeds: Sequence[int],
    root: int = 0,
    dtype: torch.dtype = torch.float32,
) -> MLP:
    """Create two-layer students, one per lane, whose first m nodes start near the m teacher nodes; biases start at 0.

    With Gaussian matrices W_ϵ and V_ϵ, whose columns are scaled to norm one, W = normalized(p_W [W*, 0] + W_ϵ) and
    V = normalized(p_V [V*; 0] + V_ϵ), where the columns are scaled to norm one again. A column of W is a node, and a
    column of V is an output. So all nodes have weights of norm one, and a larger p_V gives the first nodes a larger
    share of the fan-outs. Lanes with the same seed share W_ϵ and V_ϵ.

    Args:
        teacher: The two-layer teachers, one per lane.
        width: Number of hidden nodes, at least as many as the teacher has.
        p_W: How close input weights start to the teacher's, at least 0, one number or one per lane.
        p_V: The same for the fan-outs.
        seeds: One seed per lane.
        root: Root seed of all random streams.
        dtype: Data type of the parameters.

    >>> from relulab.subjects.specialization.tools.luck_teacher import luck_teacher
    >>> star = luck_teacher((10, 4, 3), seeds=[0])
    >>> near = start_near(star, 8, p_W=10.0, p_V=0.0, seeds=[0], dtype=star.dtype)
    >>> cosines = (near.W[0].data[0, :, :4] * star.W[0].data[0]).sum(0)
    >>> bool(cosines.min() > 0.99), round(float(near.W[1].data[0, :, 0].norm()), 6)
    (True, 1.0)
    """
    check_seeds(root, seeds)
    if teacher.depth != 2 or teacher.lanes != len(seeds) or width < teacher.widths[1]:
        raise UserError(
            f"expected a two-layer teacher with one lane per seed and a student at least as wide, got {teacher!r}, "
            f"{len(seeds)} seeds and width={width}: change the teacher, the seeds or the width"
        )
    if np.size(p_W) not in (1, len(seeds)) or np.size(p_V) not in (1, len(seeds)):
        raise UserError(
            f"got {np.size(p_W)} values of p_W and {np.size(p_V)} of p_V for {len(seeds)} lanes: expected one, or one "
            "per lane"
        )
    at_least(0, p_W=float(np.asarray(p_W).min()), p_V=float(np.asarray(p_V).min()))
    d, m, C = teacher.widths
    net = MLP((d, width, C), lanes=len(seeds), bias=teacher.bias, slope=teacher.slope, dtype=dtype)
    lanes = zip(seeds, *(np.broadcast_to(p, len(seeds)) for p in (p_W, p_V)), strict=True)
    for i, (seed, *shares) in enumerate(lanes):
        rng = stream(root, Role.STUDENT, seed)
        for l, share in enumerate(shares):
            noise = _normalized(rng.standard_normal((d, width) if l == 0 else (width, C)))
            near = (slice(None), slice(m)) if l == 0 else slice(m)
            noise[near] += share * teacher.W[l].data[i].numpy()
            net.W[l].data[i] = torch.from_numpy(_normalized(noise))
    return net


def _normalized(matrix: np.ndarray) -> np.ndarray:
    return matrix / np.linalg.norm(matrix, axis=0)
