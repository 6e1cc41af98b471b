r"""LM.T2, the gradient dynamics of deep ReLU networks (LM theorem 2, eq. 6; appendix 8.2, eq. 15).

If the expectations separate (LM assumption 1, ``LM.A1``), gradient flow on J = ½ E‖f*_L − f_L‖² moves the weights by

    Ẇ_l = L*_l W*_l H*_{l+1} − L_l W_l H_{l+1},                                                                 (6)

with L_l = E[f_l f_lᵀ], L*_l = E[f_l f*_lᵀ], H_{l+1} = E[β_{l+1}] ∘ D_{l+1} and H*_{l+1} = E[β*_{l+1}] ∘ D*_{l+1}, where
D and D* are the expectations of products of gates. At the top, H = H* = I.

Expectations are means over the given points here: they are the whole distribution, and Ẇ_l is minus the gradient of J
on them. The condition is compared for all combinations of nodes of a layer, if there are not too many.
"""

import math

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor, nn

from relulab.core.ranges import at_least
from relulab.core.seeds import Role, stream
from relulab.lab.inputs.teacher_student import TeacherStudent
from relulab.lab.show.words import differ
from relulab.lab.theorem import Check, Demonstration, Finding, Theorem, Verdict
from relulab.nets.initial import torch_default
from relulab.nets.mlp import MLP, absolute
from relulab.subjects.specialization.tools.exact_separation import (
    EQUATIONS,
    SYMBOLS,
    exact_separation,
    gap_words,
    largest_gaps,
    share_words,
)
from relulab.subjects.specialization.tools.matched_pair import matched_pair, worst_entry
from relulab.subjects.specialization.tools.separable_pairs import Pair, mirrored_pair, open_pair
from relulab.subjects.specialization.tools.streamed_means import Means, Network, streamed_means
from relulab.subjects.specialization.tools.weight_velocity import Velocity, separated_velocity


def separated_dynamics(
    teacher: nn.Module,
    student: nn.Module,
    x: Float[Tensor, "*lane N d"],
    *,
    nodes: int = 20,
    gated: bool = True,
) -> Finding:
    """Check assumption 1 on the points, and compare eq. 6 with automatic differentiation in every layer of weights.

    Args:
        teacher: An ``MLP`` or a plain Linear-ReLU-…-Linear module, with one lane or as many lanes as the student.
        student: Another such network with the same inputs. The theorem requires the same depth and outputs, too.
        x: Points, (N, d) or (lane, N, d), at least one. Expectations are their means.
        nodes: Largest number of nodes per layer and network whose combinations are compared, at least 1. In wider
            layers, the assumption can be seen to fail, but not to hold.
        gated: False takes E[β] instead of H = E[β] ∘ D, which is wrong. This is the negative control.

    Returns:
        As conditions, both equations of the assumption in every hidden layer; where they fail, the details say how far
        they are off. As conclusion, one check per layer of weights.

    >>> teacher, student = (torch_default((3, n, 2), seeds=[0]) for n in (4, 5))
    >>> separated_dynamics(teacher, student, torch.eye(3)).verdict.name
    'NOT_APPLICABLE'
    """
    at_least(1, nodes=nodes)
    pair = matched_pair(teacher, student, x)
    if not pair.matches:
        return Finding(pair.conditions, ())
    star, net, x, conditions = pair.scaled()
    assumption = _assumption(star, net, x, nodes)
    lanes = [_compare(star.lane(i), net.lane(i), x[i], gated) for i in range(net.lanes)]
    conclusion = tuple(_worst(l, same) for l, same in enumerate(zip(*lanes, strict=True)))
    return Finding((*conditions, *assumption), conclusion)


def _assumption(teacher: MLP, student: MLP, x: Float[Tensor, "lane N d"], nodes: int) -> tuple[Check, ...]:
    """Both equations of assumption 1 over the points in every hidden layer."""
    exact = exact_separation(teacher, student, x, nodes)
    off = not all(one.equal for layer in exact for one in layer)
    gaps = largest_gaps(teacher, student, x, min(nodes, 6)) if off else []
    checks = []
    for l, layer in enumerate(exact, 1):
        for which, one in enumerate(layer):
            measured, detail = one.gap, differ(one.gap, one.allowance)
            if not one.equal:
                detail = gap_words(gaps[l - 1][which])
            elif not one.complete:
                measured, detail = math.nan, f"unknown, because only {nodes} nodes per layer were compared"
            checks.append(Check(f"In layer {l}, {EQUATIONS[which]}", measured, "==", 0.0, one.allowance, detail=detail))
    return tuple(checks)


def _compare(star: MLP, net: MLP, x: Float[Tensor, "N d"], gated: bool) -> list[tuple[float, float, float]]:
    """For every layer of weights: difference and rounding allowance at the worst entry, and the relative difference.

    The allowance is γ_K = Kε/(1 − Kε), where K is the number of roundings in the longest chain of sums and products,
    times eq. 6 with absolute weights and inputs, all gates open, and a sum instead of the difference.
    """
    with torch.enable_grad():
        J = 0.5 * (star(x).detach() - net(x)).square().sum() / len(x)
        grads = torch.autograd.grad(J, [*net.W, *(net.b if net.bias else ())])
    fast = _velocity(star, net, x, gated).total
    bound = _velocity(absolute(star), absolute(net), x.abs(), True)
    K_eps = (4 * (sum(net.widths) + sum(star.widths)) + 3 * len(x)) * torch.finfo(x.dtype).eps
    rows = []
    for l in range(net.depth):
        slow = -torch.cat([grads[l][0], *([grads[net.depth + l][0]] if net.bias else [])])
        gap = (fast[l][: len(slow)] - slow).abs()
        size = K_eps / (1 - K_eps) * (bound.pull[l] + bound.push[l])[: len(slow)]
        largest = slow.abs().max().clamp(min=torch.finfo(x.dtype).tiny)
        rows.append((*worst_entry(gap, size), float((gap / largest).norm() / (slow / largest).norm())))
    return rows


def _velocity(star: MLP, net: MLP, x: Float[Tensor, "N d"], gated: bool) -> Velocity:
    """Both terms of eq. 6; without the gates, D is 1."""
    a, b = Network.of(net, 0), Network.of(star, 0)
    means = streamed_means(a, [a, b], x)
    if not gated:
        means = [Means(m.L, [torch.ones_like(D) for D in m.D], m.beta) for m in means]
    return separated_velocity(a, b, *means)


def _worst(l: int, lanes: tuple[tuple[float, float, float], ...]) -> Check:
    gap, error, relative = max(lanes, key=lambda one: one[0] / max(one[1], 1e-300))
    says = f"Ẇ_{l} = L*_{l} W*_{l} H*_{l + 1} − L_{l} W_{l} H_{l + 1}"
    words = differ(gap, error) if gap <= error else f"{differ(gap, error)}; as a whole by {share_words(relative)}"
    return Check(says, gap, "==", 0.0, error, detail=words)


def _random(widths: tuple[int, ...] = (4, 7, 5, 2)) -> Pair:
    rng = stream(0, Role.DEMONSTRATION, 12)
    star, net = torch_default((4, 5, 4, 2), seeds=[0]), torch_default(widths, seeds=[1])
    return star, net, torch.from_numpy(rng.standard_normal((2000, 4)))


def _rng() -> np.random.Generator:
    return stream(0, Role.DEMONSTRATION, 13)


THEOREM = Theorem(
    id="LM.T2",
    title="Gradient dynamics with separated expectations",
    statement="If expectations separate as in LM.A1, gradient flow on E‖f*_L − f_L‖²/2 moves the weights by Ẇ_l = L*_l "
    "W*_l H*_{l+1} − L_l W_l H_{l+1}, where H_{l+1} = E[β_{l+1}] ∘ D_{l+1} and H*_{l+1} = E[β*_{l+1}] ∘ D*_{l+1}.",
    symbols=SYMBOLS
    | {
        "l": "layer; W_l leads from layer l to layer l + 1, and layer 0 are the inputs",
        "W_l": "weights of the student, one column per node of layer l + 1",
        "Ẇ_l": "their derivative with respect to time",
        "W*_l": "weights of the teacher",
        "L_l": "E[f_l f_lᵀ], the expected products of activations in layer l",
        "L*_l": "E[f_l f*_lᵀ], the same of student and teacher",
        "D_{l+1}": "expected products of gates in layer l + 1",
        "D*_{l+1}": "the same of student and teacher",
        "H_{l+1}": "E[β_{l+1}] ∘ D_{l+1}",
        "H*_{l+1}": "E[β*_{l+1}] ∘ D*_{l+1}",
        "β_{l+1}": "matrix of the top-down modulations β_{jj'} of layer l + 1",
        "β*_{l+1}": "matrix of the top-down modulations β*_{jj°}",
        "f_L": "outputs of the student",
        "f*_L": "outputs of the teacher",
        "h_{jj°}": "entry of H*_{l+1}",
        "H": "H_{l+1} of any layer",
        "H*": "H*_{l+1} of any layer",
        "β": "β_{l+1} of any layer",
        "β*": "β*_{l+1} of any layer",
        "D": "D_{l+1} of any layer",
        "∘": "the product of two matrices entry by entry",
    },
    source="LM theorem 2, eqs. 6 and 15",
    in_print="With the printed definition h_{jj°}, where j is a student node, H* appears transposed in eq. 6. In the "
    "text below it, β* and D lack a star or an index: it should read β*_{l+1} = E[β*_{jj°}] and H*_{l+1} = β*_{l+1} ∘ "
    "D*_{l+1}. Biases are not mentioned; a unit with activation 1 carries them here.",
    check=separated_dynamics,
    on={TeacherStudent: separated_dynamics},
    variants=("gated",),
    demonstrations=(
        Demonstration(
            "All nodes are active at all points", Verdict.HOLDS, lambda: separated_dynamics(*open_pair(_rng()))
        ),
        Demonstration(
            "Co-linear weights in the first layer, points x and −x",
            Verdict.HOLDS,
            lambda: separated_dynamics(*mirrored_pair(_rng())),
        ),
        Demonstration(
            "Random networks and Gaussian inputs: the expectations do not separate",
            Verdict.NOT_APPLICABLE,
            lambda: separated_dynamics(*_random()),
        ),
        Demonstration(
            "Negative control: E[β] instead of H",
            Verdict.REFUTED,
            lambda: separated_dynamics(*mirrored_pair(_rng()), gated=False),
        ),
    ),
)
