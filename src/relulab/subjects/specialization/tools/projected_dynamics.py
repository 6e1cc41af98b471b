r"""The population dynamics of LM section 3 in discrete steps, for Gaussian inputs and frozen biases.

Students have weights w_j of norm one and fan-outs v_j. With d = ψ_d and l = ψ_l (LM eq. 7) of the current weights,

    ẇ_j = P⊥_{w_j} (Σ_k w*_k d*_jk v_jᵀv*_k − Σ_k w_k d_jk v_jᵀv_k),    v̇_j = Σ_k l*_jk v*_k − Σ_k l_jk v_k.

P⊥_w = I − w wᵀ keeps ‖w_j‖ = 1 under the flow, as BatchNorm does; a discrete step is followed by scaling to norm one. A
bias enters as a fixed number that shifts the boundary of a node: it changes how often nodes are active together, so it
is in ψ_d and ψ_l, and it is not trained.
"""

from collections.abc import Iterator
from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from relulab.subjects.specialization.tools.lucky_nodes import LuckyNodes
from relulab.subjects.specialization.tools.pair_angles import pair_angles
from relulab.subjects.specialization.tools.pair_overlap import PairOverlap, pair_overlap


class State(NamedTuple):
    """Students at one step, with their overlaps.

    Args:
        u: Weights of the students, (n, d).
        v: Their fan-outs, (n, C).
        to_star: Overlaps d*_jk, l*_jk with the teacher nodes and with the r-set at the start, (n, n).
    """

    u: Float[Tensor, "n d"]
    v: Float[Tensor, "n C"]
    to_star: PairOverlap


def uniform_dynamics(lucky: LuckyNodes, eta: float, steps: int) -> Iterator[State]:
    """Yield the students at steps 0, 1, … if the signal from above is uniform, β = β* = 11ᵀ (LM theorem 4).

    Args:
        lucky: As many students as teacher nodes.
        eta: Learning rate.
        steps: Number of steps.
    """
    v = torch.ones(len(lucky.u), 1, dtype=lucky.u.dtype)
    yield from two_layer_dynamics(lucky, v, v, eta, steps, frozen=True)


def two_layer_dynamics(
    lucky: LuckyNodes,
    v_star: Float[Tensor, "m C"],
    v: Float[Tensor, "n C"],
    eta: float,
    steps: int,
    *,
    frozen: bool = False,
) -> Iterator[State]:
    """Yield the students at steps 0, 1, … of the dynamics of both layers (LM theorem 5).

    Args:
        lucky: The students and their teacher nodes.
        v_star: Fan-outs of the teacher nodes.
        v: Fan-outs of the students, the u-set first.
        eta: Learning rate.
        steps: Number of steps.
        frozen: Whether fan-outs are not trained.
    """
    u, star, b, m = lucky.u, lucky.star, lucky.b, lucky.m
    for step in range(steps + 1):
        to_star, to_each_other = (pair_overlap(b[:, None], b, pair_angles(u, other)) for other in (star, u))
        yield State(u, v, to_star)
        if step == steps:
            return
        push = (to_star.D[:, :m] * (v @ v_star.T)) @ star[:m] - (to_each_other.D * (v @ v.T)) @ u
        push = push - (push * u).sum(1, keepdim=True) * u
        moved = u + eta * push
        if not frozen:
            v = v + eta * (to_star.L[:, :m] @ v_star - to_each_other.L @ v)
        u = moved / moved.norm(dim=1, keepdim=True)
