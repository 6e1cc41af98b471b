r"""LM.L4, the overlap of a student with its teacher node falls off quadratically (LM lemma 4, eq. 32).

For unit vectors w_j and w*_j with equal biases, l*_jj = ψ_l(w_j, w*_j), l_jj = ψ_l(w_j, w_j) and δw_j = w_j − w*_j,

    |l*_jj − l_jj| ≤ C_0 l*_jj ‖δw_j‖²

with C_0 of ``fall_off`` for students within θ_0. This is special for ψ_l: a turn by δw changes the inputs on which
exactly one of both is active by O(‖δw‖), and there the activations are O(‖δw‖). ψ_d changes by O(‖δw‖). The same claim
for ψ_d is the negative control.
"""

import torch
from jaxtyping import Float
from torch import Tensor, nn

from relulab.core.angle import norms, unit_angle
from relulab.core.seeds import Role, stream
from relulab.lab.inputs.one_network import OneNetwork
from relulab.lab.show.words import number
from relulab.lab.theorem import Check, Demonstration, Finding, Theorem, Verdict
from relulab.subjects.specialization.instruments.overlap_constants import fall_off
from relulab.subjects.specialization.instruments.overlaps import standardized
from relulab.subjects.specialization.tools.gaussian_inputs import gaussian_inputs
from relulab.subjects.specialization.tools.nodes import Nodes, lowest
from relulab.subjects.specialization.tools.pair_overlap import ACCURACY, pair_overlap, share_below

SHARES = (0.05, 0.1, 0.2, 0.5, 1.0)  # of θ_0, by which nodes are turned
RESOLUTION = 0.1  # with a larger error, the inequality is undecided


def quadratic_fall_off(
    nodes: Nodes, angle: float, *, std: float = 1.0, of_d: bool = False, seed: int = 0
) -> Finding:  # fmt: skip
    """Compare both sides for every node, turned in a random direction by several angles up to θ_0.

    Args:
        nodes: The nodes, with weights (n, d), d ≥ 2, and biases (n,), which are scaled to weights of norm one.
        angle: The angle θ_0, above 0 and below π/2, in radians.
        std: Standard deviation of the inputs from N(0, std² I), above 0.
        of_d: True claims the same of ψ_d, which is wrong. This is the negative control.
        seed: Seed of the random directions.

    >>> quadratic_fall_off(Nodes(torch.eye(2), torch.tensor([0.0, -2.0])), 0.05).verdict.name
    'HOLDS'
    """
    C_0 = fall_off(Nodes(nodes.w.double(), nodes.b.double()), angle, std=std)
    u, b = standardized(nodes, std)
    rarest = float(share_below(b).min())
    conditions = (
        Check("There are at least two inputs, so that a node can turn", u.shape[1], ">=", 2,
              detail=f"the number is {u.shape[1]:,}"),
        Check("Every node is active on some inputs", rarest, ">=", 1e-60,
              detail=f"the rarest is active on a share of {number(rarest)}"),
    )  # fmt: skip
    if not all(c.holds for c in conditions):
        return Finding(conditions, ())
    across = torch.randn(u.shape, generator=torch.Generator().manual_seed(int(seed)), dtype=torch.float64)
    across -= (across * u).sum(1, keepdim=True) * u
    across /= norms(across)[:, None]
    theta = angle * torch.tensor(SHARES, dtype=torch.float64)[:, None, None]
    turned = theta.cos() * u + theta.sin() * across
    moved = norms(turned - u).square()
    own, other = (pair_overlap(b, b, t) for t in (torch.zeros_like(moved), unit_angle(turned, u)))
    name, here, there = ("d", own.D, other.D) if of_d else ("l", own.L, other.L)
    shares = (here - there).abs() / (C_0 * there * moved)
    error = float((2 * ACCURACY / (C_0 * moved)).max())
    says = f"|{name}*_jj − {name}_jj| ≤ C_0 {name}*_jj ‖δw_j‖² for all nodes and angles"
    largest = float(shares.max())
    detail = f"the left side is up to {number(largest)} times the right, with C_0 up to {number(float(C_0.max()))}"
    return Finding(conditions, (Check(says, largest, "<=", 1.0, error, RESOLUTION, detail),))


def of_network(net: nn.Module, x: Float[Tensor, "N d"], *, angle: float = 0.01) -> Finding:
    """Check the nodes of the lowest layer, for inputs with the standard deviation of the points.

    Args:
        net: One network of Linear and ReLU layers.
        x: Points, (N, d), which must be a sample of N(0, σ² I).
        angle: The angle θ_0, in radians.
    """
    nodes = lowest(net)
    std, gaussian = gaussian_inputs(x, nodes.w)
    finding = quadratic_fall_off(nodes, angle, std=std)
    return Finding((*gaussian, *finding.conditions), finding.conclusion)


def _case(angle: float = 0.1, d: int = 5, **options) -> Finding:
    rng = stream(0, Role.DEMONSTRATION, 13)
    nodes = Nodes(torch.from_numpy(rng.standard_normal((6, d))), torch.linspace(-3, 1, 6, dtype=torch.float64))
    return quadratic_fall_off(nodes, angle, **options)


THEOREM = Theorem(
    id="LM.L4",
    title="The overlap of a student with its teacher node falls off quadratically",
    statement="|l*_jj − l_jj| ≤ C_0 l*_jj ‖δw_j‖² for students with weights of norm one within θ_0 of their teacher "
    "nodes, and with the same biases.",
    symbols={
        "j": "a student, and its teacher node",
        "l_jj": "mean square of the activation of student j",
        "l*_jj": "mean product of the activations of student j and its teacher node",
        "d_jj": "how often student j is active",
        "d*_jj": "how often student j and its teacher node are active together",
        "δw_j": "weights of student j minus those of its teacher node",
        "θ_0": "largest angle from the teacher nodes, in radians",
        "C_0": "Φ(b)/(2 l), where Φ(b) is how often the node is active, and l is l*_jj at the angle θ_0",
        "Φ(b)": "the share of inputs on which a node with bias b is active",
        "b": "bias of the node, for weights of norm one and inputs of standard deviation 1",
        "l": "l*_jj at the angle θ_0",
        "ψ_d": "how often two nodes are active together",
    },
    in_print="The lemma is correct. The text gives an idea of the proof, and no constant.",
    source="LM lemma 4, eq. 32",
    check=quadratic_fall_off,
    on={OneNetwork: of_network},
    variants=("of_d",),
    demonstrations=(
        Demonstration("Six nodes with biases from −3 to 1, θ_0 = 0.1", Verdict.HOLDS, _case),
        Demonstration("The same with θ_0 = 1", Verdict.HOLDS, lambda: _case(1.0)),
        Demonstration("One input, where nodes cannot turn", Verdict.NOT_APPLICABLE, lambda: _case(d=1)),
        Demonstration("Negative control: the same claim for ψ_d", Verdict.REFUTED, lambda: _case(of_d=True)),
    ),
)
