r"""SS.L1, the recursive gradient rule (SS lemma 1, eq. 5).

Let teacher and student have L layers, with f_l, f*_l the activations of layer l (the bias unit's 1 included), D_l the
student's gates and V_l, V*_l the top-down matrices of definition 2. Then what back-propagation carries to layer l,
minus the gradient of J = ½‖f*_L − f_L‖² in the input of that layer's units, is at every x

    g_l(x) = D_l(x) [A_l(x) f*_l(x) − B_l(x) f_l(x)],    A_l = V_lᵀ V*_l,    B_l = V_lᵀ V_l.

So each layer is taught by the teacher's same layer, whatever the depth, the widths, the biases and the leaky slope.
"""

from copy import deepcopy

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor, nn

from relulab.core.errors import UserError
from relulab.core.seeds import Role, stream
from relulab.lab.inputs.teacher_student import TeacherStudent
from relulab.lab.theorem import Check, Demonstration, Finding, Theorem, Verdict
from relulab.nets.hooks import points
from relulab.nets.initial import torch_default
from relulab.nets.mlp import MLP, absolute
from relulab.subjects.specialization.instruments.top_down import Layer, modulation, top_down_layers

ENTRIES = 10_000_000  # of the largest matrix held at once: points are taken in parts


def gradient_rule(
    teacher: nn.Module, student: nn.Module, x: Float[Tensor | np.ndarray, "*lane N d"], *, gated: bool = True
) -> Finding:
    """Checks the rule against automatic differentiation, in float64, in every layer at every point.

    Args:
        teacher: An ``MLP`` or a plain Linear-ReLU-…-Linear module, of one lane or as many as the student.
        student: Another, with the same inputs; the rule asks for the same depth and outputs too.
        x: Points, (N, d) or (lane, N, d), at least one.
        gated: A false variant of the statement, for the negative control, if False: the rule is claimed without the
            gates D_l.

    >>> teacher, student = (torch_default((3, n, 2), seeds=[0]) for n in (4, 5))
    >>> gradient_rule(teacher, student, torch.eye(3)).verdict.name
    'HOLDS'
    """
    teacher, student, x = _double(teacher), _double(student), points(x)
    if teacher.widths[0] != student.widths[0] or x.shape[-1] != student.widths[0]:
        raise UserError(
            f"teacher takes {teacher.widths[0]} inputs, student {student.widths[0]}, the points have {x.shape[-1]}: "
            "all three must agree"
        )
    if teacher.lanes not in (1, student.lanes) or not x.numel():
        raise UserError(
            f"{teacher.lanes} teachers for {student.lanes} students at {x.shape[-2]} points: one teacher or as many as "
            "students, and at least one point"
        )
    conditions = (
        Check("layers of the student, as many as of the teacher", student.depth, "==", teacher.depth),
        Check("outputs of the student, as many as of the teacher", student.widths[-1], "==", teacher.widths[-1]),
    )
    if not all(c.holds for c in conditions):
        return Finding(conditions, ())
    teacher = teacher if teacher.lanes == student.lanes else MLP.of(*[teacher.module()] * student.lanes)
    n1 = max(*student.widths, *teacher.widths) + 1
    parts = x.detach().double().split(max(1, ENTRIES // (student.lanes * n1**2)), dim=-2)
    compared = torch.stack([_compare(teacher, student, part, gated) for part in parts])
    share = compared[..., 0] / compared[..., 1].clamp(min=torch.finfo(x.dtype).tiny)
    worst = compared.gather(0, share.argmax(0)[None, :, None].expand(1, -1, 2))[0]
    return Finding(
        conditions,
        tuple(
            Check(f"|g_{l} − D_{l}(A_{l} f*_{l} − B_{l} f_{l})| at the worst point and node", gap, "==", 0.0, error)
            for l, (gap, error) in enumerate(worst.tolist(), 1)
        ),
    )


def _double(net: nn.Module) -> MLP:
    """A copy in float64: the caller's network stays as it is."""
    return deepcopy(net if isinstance(net, MLP) else MLP.of(net)).double()


def _compare(teacher: MLP, student: MLP, x: Tensor, gated: bool) -> Float[Tensor, "L 2"]:
    """A row a layer: the gap between rule and back-propagation and the rounding allowance, where their ratio is worst.

    The allowance is γ_K = Kε/(1 − Kε), K the roundings in the longest chain of sums and products, times the same
    expression with absolute weights and inputs, which no partial result exceeds. All gates are open then.
    """
    layers = [top_down_layers(net, x) for net in (student, teacher)]
    bounds = [top_down_layers(absolute(net), x.abs()) for net in (student, teacher)]
    K_eps = 2 * (sum(student.widths) + sum(teacher.widths)) * torch.finfo(x.dtype).eps
    rows = []
    for g_l, mine, its, most, most_star in zip(back_propagated(teacher, student, x), *layers, *bounds, strict=True):
        gap = (ruled(mine, its, gated)[..., : g_l.shape[-1]] - g_l).abs().flatten()
        A, B = modulation(most.V, most_star.V)
        size = (A @ most_star.f.unsqueeze(-1) + B @ most.f.unsqueeze(-1)).squeeze(-1)[..., : g_l.shape[-1]]
        allowance = (K_eps / (1 - K_eps) * size).flatten()
        worst = (gap / allowance.clamp(min=torch.finfo(x.dtype).tiny)).argmax()
        rows.append(torch.stack([gap[worst], allowance[worst]]))
    return torch.stack(rows)


def ruled(layer: Layer, layer_star: Layer, gated: bool = True) -> Float[Tensor, "lane N n1"]:
    """The right-hand side of eq. 5, with A_l and B_l as matrices."""
    A, B = modulation(layer.V, layer_star.V)
    g = (A @ layer_star.f.unsqueeze(-1) - B @ layer.f.unsqueeze(-1)).squeeze(-1)
    return layer.D * g if gated else g


def back_propagated(teacher: MLP, student: MLP, x: Float[Tensor, "*lane N d"]) -> list[Float[Tensor, "lane N n"]]:
    """The left-hand side: −∂J/∂z_l for the input z_l = f_{l−1} W_l + b_l of every layer, by autograd."""
    with torch.enable_grad():
        f, zs = x.expand(student.lanes, *x.shape[-2:]), []
        for W, b in zip(student.W, student.b, strict=True):
            zs.append(torch.baddbmm(b, f, W).requires_grad_())
            f = nn.functional.leaky_relu(zs[-1], student.slope)
        J = 0.5 * (teacher(x).detach() - zs[-1]).square().sum()
        return [-g for g in torch.autograd.grad(J, zs)]


def gradient_sizes(teacher: nn.Module, student: nn.Module, x: Float[Tensor, "*lane N d"]) -> list[dict]:
    """Of every layer, the root mean square and the largest entry of |g_l| over points and nodes."""
    teacher, student = _double(teacher), _double(student)
    gradients = back_propagated(teacher, student, x.double())
    return [
        {"layer": l, "rms": float(g.square().mean().sqrt()), "max": float(g.abs().max())}
        for l, g in enumerate(gradients, 1)
    ]


def _case(depths: tuple[int, int], slope: float = 0.0, gated: bool = True) -> Finding:
    rng = stream(0, Role.DEMONSTRATION, 1)
    nets = []
    for seed, depth in enumerate(depths):
        hidden = rng.integers(3, 9, size=depth - 1).tolist()
        nets.append(torch_default((5, *hidden, 4), seeds=[seed], slope=slope, dtype=torch.float64))
    return gradient_rule(nets[0], nets[1], torch.from_numpy(rng.standard_normal((200, 5))), gated=gated)


THEOREM = Theorem(
    id="SS.L1",
    title="Recursive gradient rule",
    statement="At every point and in every layer l, the back-propagated gradient is g_l = D_l [A_l f*_l − B_l f_l], "
    "A_l = V_lᵀ V*_l and B_l = V_lᵀ V_l: the teacher's layer l teaches the student's layer l.",
    source="SS lemma 1, eq. 5",
    check=gradient_rule,
    on={TeacherStudent: gradient_rule},
    variants=("gated",),
    demonstrations=(
        Demonstration("depth 4, ReLU, biases, unequal widths", Verdict.HOLDS, lambda: _case((4, 4))),
        Demonstration("depth 3, leaky slope 0.1", Verdict.HOLDS, lambda: _case((3, 3), slope=0.1)),
        Demonstration("student deeper than its teacher", Verdict.NOT_APPLICABLE, lambda: _case((3, 4))),
        Demonstration(
            "negative control: the rule without its gates", Verdict.REFUTED, lambda: _case((4, 4), gated=False)
        ),
    ),
)
