r"""SS.L1, the recursive gradient rule (SS lemma 1, eq. 5; corollary 2; S0 corollary 1).

Let teacher and student have L layers. f_l and f*_l are the activations of layer l, including the constant 1 of the bias
unit, D_l the gates of the student, and V_l, V*_l the top-down matrices of definition 2. The back-propagated gradient
g_l is minus the gradient of J = ½‖f*_L − f_L‖² with respect to the pre-activations of layer l. At every x,

    g_l(x) = D_l(x) [A_l(x) f*_l(x) − B_l(x) f_l(x)],    A_l = V_lᵀ V*_l,    B_l = V_lᵀ V_l.

So each student layer is trained by the same layer of the teacher, for any depth, widths, biases and leaky slope. V_l,
A_l and B_l depend on x through the gates only: they are constant within each linear region (corollary 2). This is
checked on pairs of points with the same gates. The second negative control compares points on both sides of a boundary.
"""

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor, nn

from relulab.core.seeds import Role, stream
from relulab.core.short_repr import counted
from relulab.lab.inputs.teacher_student import TeacherStudent
from relulab.lab.show.words import differ
from relulab.lab.theorem import Check, Demonstration, Finding, Theorem, Verdict
from relulab.nets.initial import torch_default
from relulab.nets.mlp import MLP, absolute
from relulab.subjects.specialization.instruments.top_down import Layer, modulation, top_down_layers
from relulab.subjects.specialization.tools.linear_regions import compare_regions
from relulab.subjects.specialization.tools.matched_pair import matched_pair

PAIRS = 256  # points whose linear region is examined
ENTRIES = 10_000_000  # size limit of the largest matrix in memory: larger sets of points are split


def gradient_rule(
    teacher: nn.Module,
    student: nn.Module,
    x: Float[Tensor | np.ndarray, "*lane N d"],
    *,
    gated: bool = True,
    across: bool = False,
) -> Finding:
    """Check the rule against automatic differentiation, in float64, in every layer and at every point.

    Args:
        teacher: An ``MLP`` or a plain Linear-ReLU-…-Linear module, with one lane or as many lanes as the student.
        student: Another such network with the same inputs. The rule requires the same depth and outputs, too.
        x: Points, (N, d) or (lane, N, d), at least one.
        gated: False checks the rule without the gates D_l, which is wrong. This is the negative control.
        across: True claims that A_l and B_l are also equal on both sides of a boundary, which is wrong for three or
            more layers. This is the negative control of corollary 2.

    Returns:
        One check per layer: the largest difference between the rule and back-propagation. For networks with hidden
        layers one more: the largest difference of V_l, A_l and B_l within a linear region.

    >>> teacher, student = (torch_default((3, n, 2), seeds=[0]) for n in (4, 5))
    >>> gradient_rule(teacher, student, torch.eye(3)).verdict.name
    'HOLDS'
    """
    teacher, student, x, conditions = pair = matched_pair(teacher, student, x)
    if not pair.matches:
        return Finding(conditions, ())
    n1 = max(*student.widths, *teacher.widths) + 1
    parts = x.split(max(1, ENTRIES // (student.lanes * n1**2)), dim=-2)
    compared = torch.stack([_compare(teacher, student, part, gated) for part in parts])
    share = compared[..., 0] / compared[..., 1].clamp(min=torch.finfo(x.dtype).tiny)
    worst = compared.gather(0, share.argmax(0)[None, :, None].expand(1, -1, 2))[0]
    rule = tuple(
        Check(_equation(l, gated), gap, "==", 0.0, error, detail=differ(gap, error))
        for l, (gap, error) in enumerate(worst.tolist(), 1)
    )
    x = x[:, : max(2, min(PAIRS, ENTRIES // n1**2))]
    return Finding(conditions, (*rule, _constant(teacher, student, x, across)) if student.depth > 1 else rule)


def _constant(teacher: MLP, student: MLP, x: Float[Tensor, "lane N d"], across: bool) -> Check:
    """Check corollary 2 at pairs of points with the same gates, or on both sides of a boundary."""
    pairs, gap, allowance = compare_regions(teacher, student, x, across)
    where = "on both sides of a boundary" if across else "in the same linear region"
    says = f"In every hidden layer l, A_l, B_l and V_l are equal at points {where}"
    detail = f"{counted(pairs, 'pair')} of points; {differ(gap, allowance)}"
    if not pairs:
        detail = "unknown, because no such pair of points was found"
    return Check(says, gap, "==", 0.0, allowance, detail=detail)


def _equation(l: int, gated: bool) -> str:
    right = f"{f'D_{l} ' if gated else ''}(A_{l} f*_{l} − B_{l} f_{l})"
    return f"In layer {l}, g_{l} = {right} at every point"


def _compare(teacher: MLP, student: MLP, x: Tensor, gated: bool) -> Float[Tensor, "L 2"]:
    """One row per layer: the difference between rule and back-propagation and its rounding allowance.

    Both are taken at the entry where their ratio is largest. The allowance is γ_K = Kε/(1 − Kε), where K is the number
    of roundings in the longest chain of sums and products, times the same expression with absolute weights and inputs
    and with all gates open. No partial result exceeds that expression.
    """
    layers = [top_down_layers(net, x) for net in (student, teacher)]
    bounds = [top_down_layers(absolute(net), x.abs()) for net in (student, teacher)]
    K_eps = 2 * (sum(student.widths) + sum(teacher.widths)) * torch.finfo(x.dtype).eps
    rows = []
    gradients = back_propagated(teacher, student, x)
    for g_l, layer, layer_star, bound, bound_star in zip(gradients, *layers, *bounds, strict=True):
        gap = (ruled(layer, layer_star, gated)[..., : g_l.shape[-1]] - g_l).abs().flatten()
        A, B = modulation(bound.V, bound_star.V)
        size = (A @ bound_star.f.unsqueeze(-1) + B @ bound.f.unsqueeze(-1)).squeeze(-1)[..., : g_l.shape[-1]]
        allowance = (K_eps / (1 - K_eps) * size).flatten()
        worst = (gap / allowance.clamp(min=torch.finfo(x.dtype).tiny)).argmax()
        rows.append(torch.stack([gap[worst], allowance[worst]]))
    return torch.stack(rows)


def ruled(layer: Layer, layer_star: Layer, gated: bool = True) -> Float[Tensor, "lane N n1"]:
    """The right-hand side of eq. 5, computed with A_l and B_l as matrices.

    Args:
        layer: Layer l of the student at N points.
        layer_star: Layer l of the teacher at the same points.
        gated: Whether the gates D_l are applied.
    """
    A, B = modulation(layer.V, layer_star.V)
    g = (A @ layer_star.f.unsqueeze(-1) - B @ layer.f.unsqueeze(-1)).squeeze(-1)
    return layer.D * g if gated else g


def back_propagated(teacher: MLP, student: MLP, x: Float[Tensor, "*lane N d"]) -> list[Float[Tensor, "lane N n"]]:
    """The left-hand side of eq. 5, −∂J/∂z_l with z_l = f_{l−1} W_l + b_l, for every layer, by autograd.

    Args:
        teacher: The teacher, with one lane or as many lanes as the student.
        student: The student.
        x: Points, (N, d) or (lane, N, d).

    Returns:
        One tensor per layer, (lane, N, n_l).
    """
    with torch.enable_grad():
        f, zs = x.expand(student.lanes, *x.shape[-2:]), []
        for W, b in zip(student.W, student.b, strict=True):
            zs.append(torch.baddbmm(b, f, W).requires_grad_())
            f = nn.functional.leaky_relu(zs[-1], student.slope)
        J = 0.5 * (teacher(x).detach() - zs[-1]).square().sum()
        return [-g for g in torch.autograd.grad(J, zs)]


def gradient_sizes(teacher: nn.Module, student: nn.Module, x: Float[Tensor, "*lane N d"]) -> list[dict]:
    """The root mean square and the largest entry of |g_l| over points and nodes, for every layer.

    Args:
        teacher: An ``MLP`` or a plain Linear-ReLU-…-Linear module.
        student: Another such network with the same inputs and outputs.
        x: Points, (N, d) or (lane, N, d).
    """
    teacher, student, x, _ = matched_pair(teacher, student, x)
    gradients = back_propagated(teacher, student, x)
    return [
        {"layer": l, "rms": float(g.square().mean().sqrt()), "max": float(g.abs().max())}
        for l, g in enumerate(gradients, 1)
    ]


def _case(depths: tuple[int, int], slope: float = 0.0, **options) -> Finding:
    rng = stream(0, Role.DEMONSTRATION, 1)
    nets = []
    for seed, depth in enumerate(depths):
        hidden = rng.integers(3, 9, size=depth - 1).tolist()
        nets.append(torch_default((5, *hidden, 4), seeds=[seed], slope=slope, dtype=torch.float64))
    return gradient_rule(nets[0], nets[1], torch.from_numpy(rng.standard_normal((200, 5))), **options)


THEOREM = Theorem(
    id="SS.L1",
    title="Recursive gradient rule",
    statement="At every input and in every layer l, the back-propagated gradient is g_l = D_l [A_l f*_l − B_l f_l], "
    "where A_l = V_lᵀ V*_l and B_l = V_lᵀ V_l. So layer l of the student is trained by layer l of the teacher. A_l, "
    "B_l and V_l are constant within every linear region, where no unit of either network changes its gate.",
    symbols={
        "l": "layer, from 1 (the lowest) to L",
        "L": "number of layers",
        "g_l": "minus the gradient of ½‖f*_L − f_L‖² with respect to the pre-activations of layer l of the student",
        "f_l": "activations of layer l of the student, with a constant 1 for the biases",
        "f*_l": "activations of layer l of the teacher, with a constant 1 for the biases",
        "D_l": "diagonal matrix of the student's gates in layer l: 1 for active units, otherwise 0 or the leaky slope",
        "W_l": "weights of layer l",
        "V_l": "top-down matrix of the student: V_L = I and V_{l−1} = V_l D_l W_lᵀ",
        "V*_l": "top-down matrix of the teacher, defined in the same way",
        "A_l": "weights of the teacher's nodes in the gradient",
        "B_l": "weights of the student's nodes in the gradient",
    },
    source="SS lemma 1, eq. 5, and corollary 2; S0 corollary 1",
    ids=("SS.C2", "S0.C1"),
    check=gradient_rule,
    on={TeacherStudent: gradient_rule},
    variants=("gated", "across"),
    demonstrations=(
        Demonstration("Depth 4, ReLU, different widths", Verdict.HOLDS, lambda: _case((4, 4))),
        Demonstration("Depth 3, leaky ReLU with slope 0.1", Verdict.HOLDS, lambda: _case((3, 3), slope=0.1)),
        Demonstration("Student deeper than the teacher", Verdict.NOT_APPLICABLE, lambda: _case((3, 4))),
        Demonstration(
            "Negative control: the rule without the gates", Verdict.REFUTED, lambda: _case((4, 4), gated=False)
        ),
        Demonstration(
            "Negative control: A_l and B_l equal on both sides of a boundary",
            Verdict.REFUTED,
            lambda: _case((4, 4), across=True),
        ),
    ),
)
