r"""LM.T1, the recursive gradient rule node by node (LM theorem 1, eqs. 2 and 3; appendix 8.1).

Let f_j and f_j° be the activations of the nodes of student and teacher in some layer, f'_j and f'_j° their gates, and
g_j the gradient that back-propagation brings to node j, minus the derivative of J = ½‖f*_L − f_L‖². If

    g_j = f'_j [Σ_{j°} β*_{jj°} f_{j°} − Σ_{j'} β_{jj'} f_{j'}]                                                 (2)

in one layer, then also in the layer below, with

    β*_{kk°} = Σ_{jj°} w_{jk} f'_j β*_{jj°} f'_{j°} w*_{j°k°},                                                  (3)
    β_{kk'} = Σ_{jj'} w_{jk} f'_j β_{jj'} f'_{j'} w_{j'k'}.

At the outputs, both are the identity and the gates are 1. These are the matrices A_l and B_l of SS lemma 1: the
recursion carries the product V_lᵀ V*_l down, where SS carries V_l itself. The paper has no biases. Here a unit with
activation 1 and gate 1 in every layer stands for them, as in SS.
"""

import torch
from jaxtyping import Float
from torch import Tensor, nn

from relulab.core.seeds import Role, stream
from relulab.lab.inputs.teacher_student import TeacherStudent
from relulab.lab.show.words import differ
from relulab.lab.theorem import Check, Demonstration, Finding, Theorem, Verdict
from relulab.nets.initial import torch_default
from relulab.nets.mlp import MLP, absolute
from relulab.subjects.specialization.instruments.top_down import Layer, augmented, modulation, top_down_layers
from relulab.subjects.specialization.theorems.gradient_rule import back_propagated
from relulab.subjects.specialization.tools.matched_pair import matched_pair, worst_entry

ENTRIES = 5_000_000  # size limit of the largest matrix in memory: larger sets of points are split

Betas = tuple[Float[Tensor, "lane N n1 m1"], Float[Tensor, "lane N n1 n1"]]


def node_gradient_rule(
    teacher: nn.Module, student: nn.Module, x: Float[Tensor, "*lane N d"], *, both_gates: bool = True
) -> Finding:
    """Check eqs. 2 and 3 in float64, in every layer and at every point.

    Args:
        teacher: An ``MLP`` or a plain Linear-ReLU-…-Linear module, with one lane or as many lanes as the student.
        student: Another such network with the same inputs. The rule requires the same depth and outputs, too.
        x: Points, (N, d) or (lane, N, d), at least one.
        both_gates: False leaves the gates f'_{j°} and f'_{j'} out of eq. 3, which is wrong for three or more layers.
            This is the negative control.

    Returns:
        Two checks per layer: the largest difference between β of eq. 3 and A_l, B_l of SS lemma 1, and the largest
        difference between the gradient of eq. 2 and back-propagation.

    >>> teacher, student = (torch_default((3, n, 2), seeds=[0]) for n in (4, 5))
    >>> node_gradient_rule(teacher, student, torch.eye(3)).verdict.name
    'HOLDS'
    """
    star, net, x, conditions = pair = matched_pair(teacher, student, x)
    if not pair.matches:
        return Finding(conditions, ())
    n1 = max(*net.widths, *star.widths) + 1
    parts = x.split(max(1, ENTRIES // (net.lanes * n1**2)), dim=-2)
    found = [_compare(star, net, part, both_gates) for part in parts]
    checks = []
    for l, of_layer in enumerate(zip(*found, strict=True), 1):
        for which, says in enumerate((_says_beta(l), f"In layer {l}, eq. 2 gives the back-propagated gradient g_j")):
            gap, error = max((one[which] for one in of_layer), key=lambda pair: pair[0] / max(pair[1], 1e-300))
            checks.append(Check(says, gap, "==", 0.0, error, detail=differ(gap, error)))
    return Finding(conditions, tuple(checks))


def _says_beta(l: int) -> str:
    return f"In layer {l}, β* and β of eq. 3 equal A_{l} and B_{l} of SS lemma 1"


def recursion(
    net: MLP, star: MLP, layers: list[Layer], layers_star: list[Layer], both_gates: bool = True
) -> list[Betas]:
    """Return β* and β of layers 1, …, L by eq. 3, with the bias unit as last node.

    Args:
        net: The students.
        star: As many teachers.
        layers: Layers 1, …, L of the students at N points; only the gates are used.
        layers_star: The same of the teachers.
        both_gates: Whether the gates of the second node are applied.
    """
    N, outputs = layers[-1].f.shape[-2:]
    identity = torch.eye(outputs, dtype=net.dtype).expand(net.lanes, N, -1, -1)
    betas = [(identity, identity)]
    for l in range(net.depth - 1, 0, -1):
        D, D_star = layers[l].D.unsqueeze(-1), layers_star[l].D.unsqueeze(-2)
        second = layers[l].D.unsqueeze(-2)
        W, W_star = augmented(net, l).unsqueeze(1), augmented(star, l).unsqueeze(1)
        beta_star, beta = D * betas[0][0], D * betas[0][1]
        if both_gates:
            beta_star, beta = beta_star * D_star, beta * second
        betas.insert(0, (W @ beta_star @ W_star.mT, W @ beta @ W.mT))
    return betas


def _compare(star: MLP, net: MLP, x: Tensor, both_gates: bool) -> list[tuple[tuple[float, float], ...]]:
    """For every layer, the worst difference of eq. 3 and of eq. 2, each with its rounding allowance.

    The allowance is γ_K = Kε/(1 − Kε), where K is the number of roundings in the longest chain of sums and products,
    times the same expression with absolute weights and inputs and with all gates open.
    """
    layers, layers_star = (top_down_layers(one, x) for one in (net, star))
    bounds, bounds_star = (top_down_layers(absolute(one), x.abs()) for one in (net, star))
    K_eps = 4 * (sum(net.widths) + sum(star.widths)) * torch.finfo(x.dtype).eps
    gradients = back_propagated(star, net, x)
    rows: list[tuple[tuple[float, float], ...]] = []
    for l, (beta_star, beta) in enumerate(recursion(net, star, layers, layers_star, both_gates)):
        A, B = modulation(layers[l].V, layers_star[l].V)
        A_size, B_size = modulation(bounds[l].V, bounds_star[l].V)
        gap = torch.cat([(beta_star - A).abs(), (beta - B).abs()], -1)
        size = torch.cat([A_size, B_size], -1)
        nodes = gradients[l].shape[-1]  # without the bias unit, which has no gradient
        g = layers[l].D * _pulled(beta_star, layers_star[l].f, beta, -layers[l].f)
        g_size = _pulled(A_size, bounds_star[l].f, B_size, bounds[l].f)[..., :nodes]
        factor = K_eps / (1 - K_eps)
        rows.append((
            worst_entry(gap, factor * size),
            worst_entry((g[..., :nodes] - gradients[l]).abs(), factor * g_size),
        ))  # fmt: skip
    return rows


def _pulled(A: Tensor, f_star: Tensor, B: Tensor, f: Tensor) -> Float[Tensor, "lane N n1"]:
    """A f* + B f at every point."""
    return (A @ f_star.unsqueeze(-1) + B @ f.unsqueeze(-1)).squeeze(-1)


def _case(depths: tuple[int, int], slope: float = 0.0, **options) -> Finding:
    rng = stream(0, Role.DEMONSTRATION, 11)
    nets = []
    for seed, depth in enumerate(depths):
        hidden = rng.integers(3, 9, size=depth - 1).tolist()
        nets.append(torch_default((5, *hidden, 4), seeds=[seed], slope=slope, dtype=torch.float64))
    return node_gradient_rule(nets[0], nets[1], torch.from_numpy(rng.standard_normal((200, 5))), **options)


THEOREM = Theorem(
    id="LM.T1",
    title="Recursive gradient rule, node by node",
    statement="At every input, the back-propagated gradient of node j in any layer is g_j = f'_j [Σ_{j°} β*_{jj°} "
    "f_{j°} − Σ_{j'} β_{jj'} f_{j'}]. One layer below, β*_{kk°} = Σ_{jj°} w_{jk} f'_j β*_{jj°} f'_{j°} w*_{j°k°} and "
    "β_{kk'} = Σ_{jj'} w_{jk} f'_j β_{jj'} f'_{j'} w_{j'k'}; at the outputs, both are 1 for a node with itself and "
    "else 0. They are the matrices A_l and B_l of SS lemma 1.",
    symbols={
        "l": "layer, from 1 (the lowest) to L",
        "j": "a node of the student in some layer; j' is another one",
        "j°": "a node of the teacher in the same layer",
        "k": "a node of the student in the layer below",
        "k'": "another node of the student in the layer below",
        "k°": "a node of the teacher in the layer below",
        "f_j": "activation of node j",
        "f_{j°}": "activation of teacher node j°",
        "f'_j": "gate of node j: 1 if it is active, otherwise 0 or the leaky slope; always 1 at the outputs",
        "f'_{j°}": "gate of teacher node j°",
        "g_j": "minus the derivative of ½‖f*_L − f_L‖² with respect to the pre-activation of node j",
        "f_L": "outputs of the student",
        "f*_L": "outputs of the teacher",
        "w_{jk}": "weight of the student from node k to node j",
        "w*_{j°k°}": "weight of the teacher from node k° to node j°",
        "β*_{jj°}": "top-down modulation: the weight of teacher node j° in the gradient of node j",
        "β_{jj'}": "top-down modulation: the weight of student node j' in the gradient of node j",
        "β*_{kk°}": "the same for nodes of the layer below",
        "β_{kk'}": "the same for nodes of the layer below",
        "β*": "all β*_{jj°} of a layer as a matrix",
        "β": "all β_{jj'} of a layer as a matrix",
        "V_l": "derivatives of the student's outputs with respect to the activations of layer l",
        "V*_l": "the same for the teacher",
        "A_l": "V_lᵀ V*_l, the product of the top-down matrices of student and teacher",
        "B_l": "V_lᵀ V_l",
    },
    source="LM theorem 1, eqs. 2 and 3",
    in_print="The paper has no biases. Here each layer has one more unit, with activation 1 and gate 1, that carries "
    "them.",
    check=node_gradient_rule,
    on={TeacherStudent: node_gradient_rule},
    variants=("both_gates",),
    demonstrations=(
        Demonstration("Depth 5, ReLU, different widths", Verdict.HOLDS, lambda: _case((5, 5))),
        Demonstration("Depth 3, leaky ReLU with slope 0.1", Verdict.HOLDS, lambda: _case((3, 3), slope=0.1)),
        Demonstration("Student deeper than the teacher", Verdict.NOT_APPLICABLE, lambda: _case((3, 4))),
        Demonstration(
            "Negative control: eq. 3 without the gate of the second node",
            Verdict.REFUTED,
            lambda: _case((4, 4), both_gates=False),
        ),
    ),
)
