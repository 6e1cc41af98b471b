r"""LM.A3, the nodes of a teacher overlap little (LM assumption 3, eq. 9).

There are ϵ_d ≪ 1 and ϵ_l ≪ 1 such that for all nodes j ≠ k, with weights of norm one,

    d_jk ≤ ϵ_d d_jj,    l_jk ≤ ϵ_l l_jj,    d_jk = E[f_j' f_k'],   l_jk = E[f_j f_k].

The check computes the smallest ϵ_d and ϵ_l and compares them with a number that counts as ≪ 1: for Gaussian inputs from
closed forms, and for given points from means with their standard errors. Orthogonal nodes without biases have ϵ_d = ½
and ϵ_l = 1/π, whatever the number of inputs. So random weights alone do not satisfy the assumption. With bias b, ϵ_d =
Φ(b) for orthogonal nodes, which is small for strongly negative biases only.
"""

import math

import torch
from jaxtyping import Float
from scipy.special import betaincinv, ndtr
from torch import Tensor, nn

from relulab.core.errors import UserError
from relulab.core.seeds import Role, stream
from relulab.lab.inputs.one_network import OneNetwork
from relulab.lab.show.words import number
from relulab.lab.theorem import Check, Demonstration, Finding, Theorem, Verdict
from relulab.nets.hooks import points
from relulab.nets.mlp import as_mlp
from relulab.subjects.specialization.instruments.overlap_ratios import relative
from relulab.subjects.specialization.instruments.overlaps import overlaps, standardized
from relulab.subjects.specialization.tools.lucky_examples import orthogonal
from relulab.subjects.specialization.tools.nodes import Nodes
from relulab.subjects.specialization.tools.pair_overlap import ACCURACY
from relulab.subjects.specialization.tools.z_scores import largest_by_chance

SMALL = 0.1  # what counts as ≪ 1 by default
ACTIVE = 1e-60  # a node that is active less often overlaps with nothing in float64

Ratio = tuple[Float[Tensor, "n n"], Float[Tensor, "n n"]]  # ratios and their errors


def small_overlaps(
    nodes: Nodes, x: Float[Tensor, "N d"] | None = None, *, largest: float = SMALL, std: float = 1.0
) -> Finding:
    """Compare ϵ_d and ϵ_l of some nodes with a number that counts as small.

    Args:
        nodes: The nodes, for instance ``lowest(teacher)``, with weights (n, d) and biases (n,).
        x: Points, (N, d), on which the overlaps are estimated, at least two. None means inputs from N(0, std² I), for
            which they are computed.
        largest: The largest ϵ that counts as small.
        std: Standard deviation of Gaussian inputs, above 0; not used with points.

    >>> small_overlaps(Nodes(torch.eye(3), torch.full((3,), -2.0))).verdict.name
    'HOLDS'
    """
    if not 0 < largest < math.inf:
        raise UserError(f"expected a positive number that counts as small, got largest={largest}")
    unit = standardized(nodes, 1.0 if x is not None else std)
    if unit.w.dim() != 2:
        raise UserError(f"expected the nodes of one network, got weights of shape {tuple(unit.w.shape)}: select a lane")
    n = len(unit.b)
    several = Check("There are at least two nodes", n, ">=", 2, detail=f"there are {n:,}" if n > 1 else "there is one")
    active, ratios = _computed(unit) if x is None else _estimated(unit, points(x).detach().double())
    if not (several.holds and active.holds):
        return Finding((several, active), ())
    says = ("Two nodes are active together at most ϵ times as often as one of them",
            "The mean product of two activations is at most ϵ times the mean square of one of them")  # fmt: skip
    checks = (
        _check(f"{sentence}, with ϵ = {number(largest)}", name, *ratio, largest)
        for sentence, name, ratio in zip(says, ("ϵ_d", "ϵ_l"), ratios, strict=True)
    )
    return Finding((several, active), tuple(checks))


def _computed(unit: Nodes) -> tuple[Check, tuple[Ratio, Ratio]]:
    D, L = overlaps(unit, unit)
    rarest = float(D.diagonal().min())
    active = Check("Every node is active on some inputs", rarest, ">=", ACTIVE,
                   detail=f"the rarest is active on a share of {number(rarest)}")  # fmt: skip
    ratios = (relative(matrix) for matrix in (D, L))
    of_d, of_l = ((ratio, 2 * ACCURACY * ratio) for ratio in ratios)
    return active, (of_d, of_l)


def _estimated(unit: Nodes, x: Float[Tensor, "N d"]) -> tuple[Check, tuple[Ratio, Ratio]]:
    """Means over the points. The error of a ratio of means a/b is that of the mean of a − (a/b) b, divided by b."""
    if x.dim() != 2 or x.shape[1] != unit.w.shape[1] or len(x) < 2:
        raise UserError(
            f"expected at least two points with {unit.w.shape[1]} inputs, got shape {tuple(x.shape)}: give one row each"
        )
    N, n = len(x), len(unit.b)
    f = (x @ unit.w.T + unit.b).clamp(min=0)
    f = torch.ldexp(f, -torch.frexp(f.max()).exponent)  # ratios do not depend on the scale; fourth powers must fit
    gate = (f > 0).double()
    count = gate.sum(0)
    rarest = int(count.min())
    active = Check("Every node is active on some points", rarest, ">=", 1,
                   detail=f"the rarest is active on {rarest:,} of {N:,}")  # fmt: skip
    sigmas = largest_by_chance(2 * n * (n - 1), N)
    together = gate.T @ gate
    both = relative(together)
    share_error = _largest_share(together, count[:, None].expand_as(together), sigmas) - both
    square = f.square().sum(0)[:, None].clamp(min=torch.finfo(f.dtype).tiny)
    product = relative(f.T @ f)
    moments = f.square().T @ f.square() - 2 * product * ((f**3).T @ f) + product.square() * f.pow(4).sum(0)[:, None]
    normal = sigmas * (both * (1 - both) / count[:, None]).clamp(min=0).sqrt()
    # products of few points are no more certain than their number
    few = (share_error - normal).clamp(min=0)
    return active, ((both, share_error), (product, sigmas * moments.clamp(min=0).sqrt() / square + few))


def _largest_share(count: Float[Tensor, "n n"], total: Float[Tensor, "n n"], sigmas: float) -> Float[Tensor, "n n"]:
    """The upper end of the exact binomial interval of count/total."""
    return torch.from_numpy(betaincinv(count.numpy() + 1, (total - count).clamp(min=1e-9).numpy(), ndtr(sigmas)))


def _check(says: str, name: str, ratio: Float[Tensor, "n n"], error: Float[Tensor, "n n"], largest: float) -> Check:
    """Check the largest ratio; the error reaches up to the largest one that any pair may have."""
    others = ~torch.eye(len(ratio), dtype=torch.bool)
    measured, highest = float(ratio[others].max()), float((ratio + error)[others].max())
    within = f" ± {number(highest - measured)}" if highest - measured > measured / 2000 else ""
    return Check(says, measured, "<=", largest, highest - measured, detail=f"{name} is {number(measured)}{within}")


def of_network(net: nn.Module, x: Float[Tensor, "N d"], *, largest: float = SMALL, layer: int = 1) -> Finding:
    """Check the nodes of one hidden layer of a network on the points.

    Args:
        net: One network of Linear and ReLU layers.
        x: Points, (N, d).
        largest: The largest ϵ that counts as small.
        layer: Number of the hidden layer, from 1.
    """
    net = as_mlp(net).double()
    if not 1 <= layer < net.depth or net.lanes != 1:
        raise UserError(f"expected one network with a hidden layer {layer}, got {net!r}: layers are counted from 1")
    x = points(x).double()
    with torch.no_grad():
        below = net.layers(x)[layer - 2][0] if layer > 1 else x
    return small_overlaps(Nodes(net.W[layer - 1].data[0].T, net.b[layer - 1].data[0, 0]), below, largest=largest)


def _sample(N: int, n: int = 6) -> Float[Tensor, "N n"]:
    return torch.from_numpy(stream(0, Role.DEMONSTRATION, 11).standard_normal((N, n)))


THEOREM = Theorem(
    id="LM.A3",
    title="The nodes of a teacher overlap little",
    statement="There are ϵ_d ≪ 1 and ϵ_l ≪ 1 such that d_jk ≤ ϵ_d d_jj and l_jk ≤ ϵ_l l_jj for all nodes j ≠ k, with "
    "weights scaled to norm one.",
    symbols={
        "j": "a node",
        "k": "another node",
        "d_jk": "how often nodes j and k are active together",
        "d_jj": "how often node j is active",
        "l_jk": "mean product of the activations of nodes j and k",
        "l_jj": "mean square of the activation of node j",
        "ϵ": "ϵ_d or ϵ_l",
        "ϵ_d": "the largest d_jk/d_jj",
        "ϵ_l": "the largest l_jk/l_jj",
        "≪": "much smaller than; here at most 0.1, unless another number is given",
    },
    in_print="The paper says that random, nearly orthogonal weights naturally lead to the assumption. This is not so: "
    "orthogonal nodes without biases have ϵ_d = 1/2 and ϵ_l = 1/π in any dimension. Biases that are negative are not "
    "enough either; with bias −1, ϵ_d is 0.159. A small ϵ_d needs strongly negative biases, or nodes that point away "
    "from each other.",
    source="LM assumption 3, eq. 9",
    check=small_overlaps,
    on={OneNetwork: of_network},
    demonstrations=(
        Demonstration("Six orthogonal nodes with bias −2", Verdict.HOLDS, lambda: small_overlaps(orthogonal(-2.0))),
        Demonstration("The same on 200,000 points", Verdict.HOLDS,
                      lambda: small_overlaps(orthogonal(-2.0), _sample(200_000))),
        Demonstration("The same on 500 points", Verdict.INCONCLUSIVE,
                      lambda: small_overlaps(orthogonal(-2.0), _sample(500))),
        Demonstration("A single node", Verdict.NOT_APPLICABLE, lambda: small_overlaps(orthogonal(-2.0, 1))),
        Demonstration("Negative control: orthogonal nodes without biases", Verdict.REFUTED,
                      lambda: small_overlaps(orthogonal(0.0))),
        Demonstration("Negative control: orthogonal nodes with bias −1", Verdict.REFUTED,
                      lambda: small_overlaps(orthogonal(-1.0))),
    ),
)  # fmt: skip
