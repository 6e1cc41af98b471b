"""How fast the weights of nodes grow under gradient flow: w_jᵀ ẇ_j with a bound on its rounding error."""

from collections.abc import Callable
from copy import deepcopy
from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor, nn

from relulab.subjects.specialization.tools.batch_statistics import EPS, Statistics, samples, statistics
from relulab.subjects.specialization.tools.normalized_layers import Layer, Part, as_rows

Objective = Callable[[Tensor], Tensor]
"""a function from the outputs of a network to a loss"""


class Rates(NamedTuple):
    """Weights of the nodes of one layer, and their velocities under gradient flow.

    Args:
        inner: w_jᵀ ẇ_j, (n,).
        size: ‖w_j‖, (n,).
        speed: ‖ẇ_j‖, (n,).
        error: A bound on the rounding error of ``inner``, (n,).
    """

    inner: Float[Tensor, " n"]
    size: Float[Tensor, " n"]
    speed: Float[Tensor, " n"]
    error: Float[Tensor, " n"]


def inputs_of_norms(parts: list[Part], layers: list[Layer], x: Tensor) -> list[Statistics]:
    """Return the statistics of what every BatchNorm receives.

    Args:
        parts: Modules of a network, from ``sequential_parts``.
        layers: Its normalized layers.
        x: Points, (N, …).
    """
    with torch.no_grad():
        given, _ = _passed(parts, x)
    return [statistics(samples(given[id(layer.norm)]), layer.norm.eps) for layer in layers if layer.norm is not None]


def weight_rates(
    parts: list[Part], layers: list[Layer], x: Tensor, objective: Objective, *, with_bias: bool = True
) -> list[Rates]:
    """Compute ẇ_j = −∂J/∂w_j by automatic differentiation, for the nodes of some layers.

    Args:
        parts: Modules of a network, from ``sequential_parts``.
        layers: The layers.
        x: Points, (N, …), in float64.
        objective: The loss J as a function of the outputs.
        with_bias: False leaves the bias out of w_j.
    """
    parameters = [p for layer in layers for p in layer.parameters(with_bias)]
    with torch.enable_grad():
        given, returned = _passed(parts, x)
        ends = [returned[id(layer.norm or layer.linear)] for layer in layers]
        J = objective(returned[id(parts[-1][1])])
        gradients = torch.autograd.grad(J, [*parameters, *ends], allow_unused=True, materialize_grads=True)
    rates, left = [], list(gradients)
    for layer, g in zip(layers, left[len(parameters) :], strict=True):
        own = layer.parameters(with_bias)
        velocity = -as_rows([left.pop(0) for _ in own])
        w = layer.rows(with_bias)
        error = _rounding(layer, given, samples(g))
        rates.append(Rates((w * velocity).sum(1), w.norm(dim=1), velocity.norm(dim=1), error))
    return rates


def _passed(parts: list[Part], x: Tensor) -> tuple[dict[int, Tensor], dict[int, Tensor]]:
    """Run the modules one after the other; return what each receives and what it returns, by its id."""
    given, returned = {}, {}
    for _, module in parts:
        given[id(module)] = x
        x = returned[id(module)] = module(x)
    return given, returned


@torch.no_grad()
def _rounding(layer: Layer, given: dict[int, Tensor], g: Float[Tensor, "M n"]) -> Float[Tensor, " n"]:
    """Bound the rounding error of w_jᵀ ẇ_j: it is that of a sum over samples of f_j times the gradient behind it.

    The projection of LM.L1 makes the sum zero for any g, so rounding errors of g itself do not matter.
    """
    linear = deepcopy(layer.linear)
    for p in linear.parameters():
        p.abs_()
    largest, terms = samples(linear(given[id(layer.linear)].abs())).amax(0), linear.weight[0].numel()
    if layer.norm is None:
        return 4 * (len(g) + terms + 8) * EPS * largest * g.abs().sum(0)
    of = statistics(samples(given[id(layer.norm)]), layer.norm.eps)
    c_0 = torch.ones_like(of.s) if layer.norm.weight is None else layer.norm.weight
    return 2 * (1 + terms / len(g)) * largest * of.backward_error(g, c_0).sum(0)


def largest_rate(net: nn.Module, x: Tensor, objective: Objective) -> float:
    """Return the largest relative rate of change of the parameters of a module under gradient flow.

    Args:
        net: The network.
        x: Points, (N, …).
        objective: The loss J as a function of the outputs.
    """
    own = [list(m.parameters(recurse=False)) for m in net.modules() if any(True for _ in m.parameters(recurse=False))]
    with torch.enable_grad():
        gradients = list(torch.autograd.grad(objective(net(x)), [p for parameters in own for p in parameters]))
    rates = []
    for parameters in own:
        speed = torch.stack([gradients.pop(0).norm() for _ in parameters]).norm()
        size = torch.stack([p.detach().norm() for p in parameters]).norm()
        rates += [float(speed / size)] if size > 0 else []
    return max(rates)


def descend(
    net: nn.Module, x: Tensor, objective: Objective, *, step: float, steps: int, weight_decay: float = 0.0,
    look: Callable[[list[Tensor]], object] = lambda gradients: None,
) -> None:  # fmt: skip
    """Change all parameters by gradient descent on all points.

    Args:
        net: The network, which is changed.
        x: Points, (N, …).
        objective: The loss J as a function of the outputs.
        step: Step size η.
        steps: Number of steps.
        weight_decay: This multiple of the parameters is added to the gradient.
        look: Called before every step with the gradients of all parameters.
    """
    parameters = list(net.parameters())
    for _ in range(steps):
        with torch.enable_grad():
            gradients = torch.autograd.grad(objective(net(x)), parameters)
        if weight_decay:
            gradients = [g + weight_decay * p.detach() for g, p in zip(gradients, parameters, strict=True)]
        look(list(gradients))
        with torch.no_grad():
            for p, g in zip(parameters, gradients, strict=True):
                p -= step * g
