r"""S0.E6, the growth of the weights of a student node (S0 eq. 6, section 5.1).

Let a student learn the outputs of a teacher by gradient flow on J = ½ E‖r‖² with the residue r = f*_L − f_L. Let w_k be
the weights of a node of layer l, with its bias as last entry, f_k its activation, and v_k(x) = ∂f_L/∂f_k. Then

    ½ d‖w_k‖²/dt = w_kᵀ ẇ_k = E[f_k rᵀ v_k],

because f_k = z_k w_kᵀ f_{l−1}, where z_k is the gate. So a node grows if its activation agrees with the part of the
residue that it can change. The paper has two layers, where v_k is constant. The equation is true in every hidden layer.
"""

import torch
from jaxtyping import Float
from torch import Tensor, nn

from relulab.core.errors import UserError
from relulab.core.seeds import Role, stream
from relulab.lab.inputs.teacher_student import TeacherStudent
from relulab.lab.show.words import differ
from relulab.lab.theorem import Check, Demonstration, Finding, Theorem, Verdict
from relulab.nets.hooks import points
from relulab.nets.initial import torch_default
from relulab.nets.mlp import MLP, absolute, as_mlp
from relulab.subjects.specialization.instruments.top_down import top_down_layers


def weight_magnitude(
    teacher: nn.Module, student: nn.Module, x: Float[Tensor, "N d"], *, with_bias: bool = True
) -> Finding:
    """Compare E[f_k rᵀ v_k] over the points with w_kᵀ ẇ_k by automatic differentiation, in every hidden layer.

    Args:
        teacher: One network of Linear and (leaky) ReLU layers.
        student: Another one with the same inputs and a hidden layer. The equation requires the same outputs.
        x: Points, (N, d), at least one. The expectation is their mean.
        with_bias: False leaves the bias out of w_k, which is wrong if there is one. This is the negative control.

    >>> teacher, student = (torch_default((3, n, 2), seeds=[0]) for n in (4, 5))
    >>> weight_magnitude(teacher, student, torch.eye(3)).verdict.name
    'HOLDS'
    """
    star, net, x = _one(teacher, "teacher"), _one(student, "student"), points(x).detach().double()
    if x.dim() != 2 or not len(x) or not star.widths[0] == net.widths[0] == x.shape[1] or net.depth < 2:
        raise UserError(
            f"expected a student with a hidden layer and points with the inputs of both networks, got {net!r}, "
            f"{star!r} and points of shape {tuple(x.shape)}"
        )
    says = "Student and teacher have the same number of outputs"
    words = f"student {net.widths[-1]:,}, teacher {star.widths[-1]:,}"
    conditions = (Check(says, net.widths[-1], "==", star.widths[-1], detail=words),)
    if not conditions[0].holds:
        return Finding(conditions, ())
    with torch.no_grad():
        closed = growth(net, x, star(x) - net(x))
        size = growth(absolute(net), x.abs(), absolute(star)(x.abs()) + absolute(net)(x.abs()))
    roundings = 2 * (sum(net.widths) + sum(star.widths)) + len(x)
    error = [float(roundings * torch.finfo(x.dtype).eps * s.max()) for s in size]
    slow = by_autograd(star, net, x, with_bias)
    checks = []
    for l, (fast, other, allowed) in enumerate(zip(closed, slow, error, strict=True), 1):
        gap = float((fast - other).abs().max())
        left = "w_kᵀ ẇ_k" if with_bias else "w_kᵀ ẇ_k without the bias"
        says = f"In layer {l}, {left} = E[f_k rᵀ v_k] for every node k"
        # if no node grows by more than rounding errors, the check shows nothing
        checks.append(Check(says, gap, "==", 0.0, allowed, float(fast.abs().max()), differ(gap, allowed)))
    return Finding(conditions, tuple(checks))


def growth(net: MLP, x: Float[Tensor, "N d"], r: Float[Tensor, "1 N C"]) -> list[Float[Tensor, " n"]]:
    """The right-hand side E[f_k rᵀ v_k] for the nodes of every hidden layer.

    Args:
        net: The student.
        x: Points, (N, d).
        r: Residues f*_L − f_L at the points, (1, N, C).
    """
    return [
        (layer.f * (layer.V.mT @ r.unsqueeze(-1)).squeeze(-1)).mean(1)[0, :-1] for layer in top_down_layers(net, x)[:-1]
    ]


def by_autograd(star: MLP, net: MLP, x: Float[Tensor, "N d"], with_bias: bool = True) -> list[Float[Tensor, " n"]]:
    """The left-hand side w_kᵀ ẇ_k for the nodes of every hidden layer, with ẇ_k = −∂J/∂w_k.

    Args:
        star: The teacher.
        net: The student.
        x: Points, (N, d).
        with_bias: Whether w_k contains the bias.
    """
    with torch.enable_grad():
        W, b = ([p.detach().clone().requires_grad_() for p in parameters] for parameters in (net.W, net.b))
        f = x[None]
        for weights, biases in zip(W[:-1], b[:-1], strict=True):
            f = nn.functional.leaky_relu(torch.baddbmm(biases, f, weights), net.slope)
        J = 0.5 * (star(x).detach() - torch.baddbmm(b[-1], f, W[-1])).square().sum(-1).mean()
        dW, db = (torch.autograd.grad(J, parameters, retain_graph=True) for parameters in (W, b))
    rates = [-(w.detach() * dw)[0].sum(0) for w, dw in zip(W, dW, strict=True)]
    if with_bias:
        rates = [rate - (c.detach() * dc)[0, 0] for rate, c, dc in zip(rates, b, db, strict=True)]
    return rates[:-1]


def _one(net: nn.Module, name: str) -> MLP:
    """Return a copy in float64."""
    net = as_mlp(net)
    if net.lanes != 1:
        raise UserError(f"expected one {name}, got {net.lanes} lanes: select one with net.lane(i)")
    return MLP.of(net.module()).double()


def _case(hidden: tuple[int, ...], outputs: int = 4, slope: float = 0.0, copy: bool = False, **options) -> Finding:
    rng = stream(0, Role.DEMONSTRATION, 6)
    star = torch_default((5, *hidden, outputs), seeds=[0], slope=slope, dtype=torch.float64)
    student = torch_default((5, *(2 * n for n in hidden), 4), seeds=[1], slope=slope, dtype=torch.float64)
    x = torch.from_numpy(rng.standard_normal((200, 5)))
    return weight_magnitude(star, star if copy else student, x, **options)


THEOREM = Theorem(
    id="S0.E6",
    title="Growth of the weights of a student node",
    statement="Under gradient flow on ½ E‖r‖², the time derivative of ½ ‖w_k‖² is w_kᵀ ẇ_k = E[f_k rᵀ v_k] for "
    "every hidden node k of the student. So a node grows if its activation agrees with the part of the "
    "residue that it can change.",
    symbols={
        "k": "a hidden node of the student",
        "w_k": "input weights of node k, with its bias as last entry",
        "ẇ_k": "time derivative of w_k: minus the gradient of ½ E‖r‖²",
        "f_k": "activation of node k",
        "r": "outputs of the teacher minus outputs of the student, at the same input",
        "v_k": "derivative of the outputs with respect to f_k; in a two-layer network, the output weights of node k",
        "E": "mean over the points",
    },
    in_print="The equation is derived for two layers, where v_k is constant. "
    "It is checked in all hidden layers. The weights w_k must contain the bias: without it, the equation is false, "
    "which is the negative control.",
    source="S0 eq. 6, section 5.1",
    check=weight_magnitude,
    on={TeacherStudent: weight_magnitude},
    variants=("with_bias",),
    demonstrations=(
        Demonstration("Two layers, a student of twice the width", Verdict.HOLDS, lambda: _case((6,))),
        Demonstration("Four layers, leaky ReLU with slope 0.1", Verdict.HOLDS, lambda: _case((6, 5, 4), slope=0.1)),
        Demonstration("A teacher with other outputs", Verdict.NOT_APPLICABLE, lambda: _case((6,), outputs=3)),
        Demonstration(
            "A student that equals its teacher, so nothing grows", Verdict.INCONCLUSIVE, lambda: _case((6,), copy=True)
        ),
        Demonstration(
            "Negative control: the bias is left out of w_k", Verdict.REFUTED, lambda: _case((6,), with_bias=False)
        ),
    ),
)
