r"""LM.A2, overlaps of nodes are Lipschitz continuous relative to themselves (LM assumption 2, eq. 8).

There are K_d and K_l such that for i = d and i = l,

    |ψ_i(w, w_1) − ψ_i(w, w_2)| ≤ K_i ψ_i(w, w_1) ‖w_1 − w_2‖.

For Gaussian inputs, this holds near given nodes, with the constants of ``lipschitz_constants``: w is a unit vector
within θ_0 of a node i, and of w_1 and w_2 one is a node j and the other a unit vector within θ_0 of it. Biases are
those of the nodes. There are no such constants for all unit vectors, as printed: ψ_i(w, w_1) tends to 0 faster than its
slope as w_1 tends to −w. The printed form is a negative control.
"""

import math

import torch
from jaxtyping import Float
from torch import Tensor, nn

from relulab.core.angle import norms, unit_angle
from relulab.core.errors import UserError
from relulab.core.seeds import Role, stream
from relulab.lab.inputs.one_network import OneNetwork
from relulab.lab.show.words import number
from relulab.lab.theorem import Check, Demonstration, Finding, Theorem, Verdict
from relulab.subjects.specialization.instruments.overlap_constants import lipschitz_constants
from relulab.subjects.specialization.instruments.overlaps import standardized
from relulab.subjects.specialization.tools.gaussian_inputs import gaussian_inputs
from relulab.subjects.specialization.tools.lucky_examples import orthogonal
from relulab.subjects.specialization.tools.nodes import Nodes, lowest
from relulab.subjects.specialization.tools.pair_angles import pair_angles
from relulab.subjects.specialization.tools.pair_overlap import ACCURACY, pair_overlap, slope_bound

SHARES = (-1.0, -0.5, -0.1, 0.1, 0.5, 1.0)  # of θ_0, by which nodes are turned away from each other
PAIRS, RANDOM = 300, 20  # pairs of nodes, and random triples for each
LARGEST = 1e12  # a larger constant says nothing
OPPOSITE = (0.3, 0.1, 0.03, 0.01)  # angles between w_1 and −w, for the printed form


def lipschitz_overlaps(
    nodes: Nodes, angle: float, *, std: float = 1.0, K_d: float | None = None, K_l: float | None = None,
    as_printed: bool = False, seed: int = 0,
) -> Finding:  # fmt: skip
    """Compare the inequality with overlaps of many triples w, w_1, w_2, for inputs from N(0, std² I).

    The triples are random ones, and those in the plane of two nodes in which ψ changes fastest.

    Args:
        nodes: The nodes, for instance ``lowest(teacher)``, with weights (n, d) and biases (n,), scaled to norm one.
        angle: The angle θ_0, above 0 and below π/2, in radians.
        std: Standard deviation of the inputs, above 0.
        K_d: The constant of ψ_d, above 0. None takes that of ``lipschitz_constants``.
        K_l: The constant of ψ_l, above 0. None takes that of ``lipschitz_constants``.
        as_printed: True claims the inequality for all unit vectors, which is wrong. This is a negative control.
        seed: Seed of the random triples.

    >>> lipschitz_overlaps(Nodes(torch.eye(3), torch.full((3,), -1.0)), 0.02).verdict.name
    'HOLDS'
    """
    if any(K is not None and not 0 < K < math.inf for K in (K_d, K_l)):
        raise UserError(f"expected positive constants, got K_d={K_d} and K_l={K_l}: leave them out to compute them")
    constants = [float(K) for K in lipschitz_constants(nodes, angle, std=std)]
    unit = standardized(nodes, std)
    detail = f"the computed ones are {number(constants[0])} and {number(constants[1])}"
    says = "There are constants K_d and K_l within θ_0 of the nodes"
    conditions = (Check(says, max(constants), "<=", LARGEST, detail=detail),)
    if not all(c.holds for c in conditions):
        return Finding(conditions, ())
    w, first, second, h, k = _triples(unit, angle, seed, as_printed)
    wanted = [known or K for known, K in zip((K_d, K_l), constants, strict=True)]
    apart = norms(first - second)
    of_first, of_second = (pair_overlap(h, k, unit_angle(w, other)) for other in (first, second))
    checks = []
    for name, K, a, b in zip("dl", wanted, of_first, of_second, strict=True):
        # each triple in both orders
        shares = torch.cat([(a - b).abs() / (one * apart) for one in (a, b)]) / K
        shares = shares.nan_to_num(nan=0.0, posinf=torch.inf)  # 0/0: both overlaps are too small for float64
        error = float(4 * ACCURACY / (apart.min() * K))
        says = f"|ψ_{name}(w, w_1) − ψ_{name}(w, w_2)| ≤ K_{name} ψ_{name}(w, w_1) ‖w_1 − w_2‖ for all triples"
        detail = (
            f"the left side is up to {number(float(shares.max()))} times the right, for {2 * len(w):,} triples, with "
        )
        checks.append(Check(says, float(shares.max()), "<=", 1.0, error, 0.01, f"{detail}K_{name} = {number(K)}"))
    return Finding(conditions, tuple(checks))


def _triples(unit: Nodes, angle: float, seed: int, as_printed: bool) -> tuple[Tensor, ...]:
    """w, w_1, w_2 and the biases of w and of w_1, w_2, for many pairs of nodes."""
    d = unit.w.shape[1]
    rng = torch.Generator().manual_seed(int(seed))
    i, j = _pairs(unit, angle, rng)
    u, v = unit.w[i], unit.w[j]
    noise = torch.randn(2, RANDOM, len(i), d, generator=rng, dtype=torch.float64)
    turns = angle * (0.1 + 0.9 * torch.rand(2, RANDOM, len(i), 1, generator=rng, dtype=torch.float64))
    fallback = torch.randn(d, generator=rng, dtype=torch.float64)
    parts = [(_turned(u, noise[0], turns[0]), v.expand(RANDOM, -1, -1), _turned(v, noise[1], turns[1]))]
    away_u, away_v = _away(u, v, fallback), _away(v, u, fallback)
    for of_w in (*SHARES, 0.0):
        w = _turned(u, away_u, angle * of_w)[None]
        parts += [(w, v[None], _turned(v, away_v, angle * share)[None]) for share in SHARES]
    if as_printed:
        for gap in OPPOSITE:
            near, far = (_turned(-u, fallback.expand_as(u), gap * share) for share in (0.5, 1.0))
            parts.append((u[None], near[None], far[None]))
    w, first, second = (torch.cat(one).reshape(-1, d) for one in zip(*parts, strict=True))
    times = len(w) // len(i)
    return w, first, second, unit.b[i].repeat(times), unit.b[j].repeat(times)


def _pairs(unit: Nodes, angle: float, rng: torch.Generator) -> tuple[Tensor, Tensor]:
    """All ordered pairs of nodes; if there are many, those whose overlaps change fastest, and random ones."""
    n = len(unit.b)
    if n * n <= PAIRS:
        return torch.arange(n).repeat_interleave(n), torch.arange(n).repeat(n)
    theta = (pair_angles(unit.w, unit.w) + angle).clamp(max=math.pi)
    h, k = unit.b[:, None], unit.b
    D, L = pair_overlap(h, k, theta)
    speeds = (slope_bound(h, k, theta, theta) / D, theta.sin() * D / L)
    fastest = [speed.nan_to_num(nan=0.0).flatten().topk(PAIRS // 3).indices for speed in speeds]
    chosen = torch.cat([*fastest, torch.randint(n * n, (PAIRS // 3,), generator=rng)])
    return chosen // n, chosen % n


def _away(u: Float[Tensor, "p d"], v: Float[Tensor, "p d"], fallback: Float[Tensor, " d"]) -> Float[Tensor, "p d"]:
    """A vector along which u moves away from v in their plane; any vector if there is no such plane."""
    across = (u * v).sum(1, keepdim=True) * u - v
    return torch.where(norms(across)[:, None] > 1e-6, across, fallback)


def _turned(
    u: Float[Tensor, "*t d"], toward: Float[Tensor, "*t_ d"], turn: Float[Tensor, "*t__"] | float
) -> Float[Tensor, "*t___ d"]:
    """Turn unit vectors u by an angle in the direction of other vectors; not at all in one dimension."""
    turn = torch.as_tensor(turn, dtype=u.dtype)
    across = toward - (u * toward).sum(-1, keepdim=True) * u
    size = norms(across)[..., None]
    across = torch.where(size > 1e-12, across / size.clamp(min=1e-300), 0.0)
    turned = turn.cos() * u + turn.sin() * across
    return turned / norms(turned)[..., None]


def of_network(
    net: nn.Module, x: Float[Tensor, "N d"], *, angle: float = 0.01, K_d: float | None = None, K_l: float | None = None
) -> Finding:
    """Check the nodes of the lowest layer, for inputs with the standard deviation of the points.

    Args:
        net: One network of Linear and ReLU layers.
        x: Points, (N, d), which must be a sample of N(0, σ² I).
        angle: The angle θ_0, in radians.
        K_d: The constant of ψ_d; by default it is computed.
        K_l: The constant of ψ_l; by default it is computed.
    """
    nodes = lowest(net)
    std, gaussian = gaussian_inputs(x, nodes.w)
    finding = lipschitz_overlaps(nodes, angle, std=std, K_d=K_d, K_l=K_l)
    return Finding((*gaussian, *finding.conditions), finding.conclusion)


def _mixed(n: int = 5) -> Nodes:
    rng = stream(0, Role.DEMONSTRATION, 12)
    return Nodes(torch.from_numpy(rng.standard_normal((n, 8))), torch.from_numpy(rng.uniform(-3, 0.5, n)))


def _half(of_d: float = 1.0, of_l: float = 1.0) -> Finding:
    """The first demonstration with a part of one constant."""
    K_d, K_l = map(float, lipschitz_constants(_mixed(), 0.02))
    return lipschitz_overlaps(_mixed(), 0.02, K_d=of_d * K_d, K_l=of_l * K_l)


THEOREM = Theorem(
    id="LM.A2",
    title="Overlaps of nodes are Lipschitz continuous relative to themselves",
    statement="Near given nodes there are constants K_d and K_l with |ψ(w, w_1) − ψ(w, w_2)| ≤ K ψ(w, w_1) ‖w_1 − w_2‖ "
    "for ψ = ψ_d and ψ = ψ_l: for all unit vectors w within the angle θ_0 of a node, if w_1 or w_2 is a node and the "
    "other one is a unit vector within θ_0 of it. Biases are those of the nodes.",
    symbols={
        "ψ_d": "ψ_d(w, w') is how often nodes with weights w and w' are active together",
        "ψ_l": "ψ_l(w, w') is the mean product of their activations",
        "ψ": "ψ_d or ψ_l",
        "w": "weights of a node",
        "w'": "weights of another node",
        "w_1": "a node, or a unit vector near it",
        "w_2": "a unit vector near w_1",
        "θ_0": "largest angle from the nodes, in radians",
        "K": "K_d or K_l",
        "K_d": "Lipschitz constant of ψ_d",
        "K_l": "Lipschitz constant of ψ_l",
    },
    in_print="The assumption is printed without a range for w, w_1 and w_2. There are no constants for all unit "
    "vectors: as w_1 tends to −w, ψ(w, w_1) tends to 0 faster than its slope. Near given nodes, they exist if no two "
    "nodes can come to point in opposite directions. This is all that the theorems need.",
    source="LM assumption 2, eq. 8",
    check=lipschitz_overlaps,
    on={OneNetwork: of_network},
    variants=("as_printed",),
    demonstrations=(
        Demonstration("Five random nodes with biases between −3 and 0.5, θ_0 = 0.02", Verdict.HOLDS,
                      lambda: lipschitz_overlaps(_mixed(), 0.02)),
        Demonstration("Orthogonal nodes with bias −4, θ_0 = 0.01", Verdict.HOLDS,
                      lambda: lipschitz_overlaps(orthogonal(-4.0), 0.01)),
        Demonstration("Two nodes without biases that point in opposite directions", Verdict.NOT_APPLICABLE,
                      lambda: lipschitz_overlaps(Nodes(torch.tensor([[1.0, 0.0], [-1.0, 0.0]]), torch.zeros(2)), 0.02)),
        Demonstration("Negative control: half of K_d", Verdict.REFUTED, lambda: _half(of_d=0.5)),
        Demonstration("Negative control: half of K_l", Verdict.REFUTED, lambda: _half(of_l=0.5)),
        Demonstration("Negative control: the same constants for all unit vectors, as printed", Verdict.REFUTED,
                      lambda: lipschitz_overlaps(_mixed(), 0.02, as_printed=True)),
    ),
)  # fmt: skip
