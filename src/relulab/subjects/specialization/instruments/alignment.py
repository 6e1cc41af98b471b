"""Alignment: the distance between the hyperplanes of two nodes (SS definitions 1 and 3)."""

import torch
from jaxtyping import Float
from torch import Tensor

from relulab.lab.instrument import instrument
from relulab.subjects.specialization.tools.nodes import Nodes, regular

PARALLEL = 0.9  # |cos θ| above which sin θ is computed from differences
CHUNK = 1 << 22  # numbers per pass over nearly parallel pairs


@instrument(source="SS definition 3, eq. 4", ids=("SS.D", "SS.T1"))
def alignment(star: Nodes, nodes: Nodes, *, either_side: bool = False) -> Float[Tensor, "*lane m n"]:
    """The smallest ε for which nodes j and k are ε-aligned, ε_jk = max(sin θ̃_jk, |b_j − b_k|).

    Nodes are first scaled to be regular (‖w‖ = 1), so positive rescaling changes nothing. θ̃_jk is the angle between
    their weights. For angles of 90° or more, sin θ̃ is replaced by 1, because nodes that are active on opposite sides of
    the same hyperplane are different functions. The error of a node with zero weights is ∞, and that of a node with
    weights that are NaN or infinite is NaN.

    Args:
        star: Nodes j, for instance ``lowest(teacher)``, with weights (…, m, d) and biases (…, m).
        nodes: Nodes k, for instance ``lowest(student)``, with weights (…, n, d) and biases (…, n).
        either_side: Whether to ignore on which side of its hyperplane a node is active. If so, the smaller of the
            errors for (w_k, b_k) and (−w_k, −b_k) is returned.

    Returns:
        The errors ε_jk, (…, m, n).

    >>> nodes = Nodes(torch.tensor([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0]]), torch.tensor([0.25, 0.0, 0.0]))
    >>> alignment(Nodes(torch.tensor([[2.0, 0.0]]), torch.zeros(1)), nodes).tolist()
    [[0.25, 1.0, 1.0]]
    """
    (u_star, c_star), (u, c) = regular(star), regular(nodes)
    sine, cosine = _sines(u_star, u)
    zero = (u_star.abs().amax(-1) == 0).unsqueeze(-1) | (u.abs().amax(-1) == 0).unsqueeze(-2)
    sine = sine.where(~zero, torch.inf)
    shift, opposite_shift = (c_star.unsqueeze(-1) - side * c.unsqueeze(-2) for side in (1, -1))
    error = torch.maximum(sine.where(cosine > 0, sine.clamp(min=1)), shift.abs())
    if not either_side:
        return error
    return torch.minimum(error, torch.maximum(sine.where(cosine < 0, sine.clamp(min=1)), opposite_shift.abs()))


def _sines(
    u: Float[Tensor, "*lane m d"], v: Float[Tensor, "*lane n d"]
) -> tuple[Float[Tensor, "*lane m n"], Float[Tensor, "*lane m n"]]:
    """Return sin θ and cos θ of all pairs of unit vectors.

    For most pairs, sin²θ = 1 − cos²θ from one matrix product is accurate. It loses digits for nearly parallel vectors,
    where sin θ = ‖u − v‖ ‖u + v‖ / 2 is used instead.
    """
    cosine = (u @ v.mT).clamp(-1, 1)
    sine = (1 - cosine.square()).sqrt()
    parallel = (cosine.abs() > PARALLEL).nonzero()
    u, v = (vectors.expand(*cosine.shape[:-2], *vectors.shape[-2:]) for vectors in (u, v))
    for pairs in parallel.split(max(1, CHUNK // u.shape[-1])):
        *lane, j, k = pairs.unbind(1)
        a, b = u[(*lane, j)], v[(*lane, k)]
        sine[(*lane, j, k)] = (a - b).norm(dim=-1) * (a + b).norm(dim=-1) / 2
    return sine, cosine
