"""How strongly each hidden node acts on the outputs: √E[β_kk], the root mean square of ‖∂f_L/∂f_k‖."""

from collections.abc import Iterator

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor, nn

from relulab.core.errors import UserError
from relulab.core.followed import followed
from relulab.core.ranges import at_least
from relulab.core.seeds import Role, stream
from relulab.core.threads import threads_for
from relulab.lab.instrument import instrument
from relulab.nets.hooks import activations, applied, fitted, layers_of, points, units
from relulab.nets.mlp import MLP, as_mlp, check_points
from relulab.subjects.specialization.tools.streamed_means import Network, mean_square_columns

CHUNK = 1000  # points per pass of automatic differentiation


@instrument(source="S0 section 5.2, LM eq. 3", ids=("S0.F4", "LM.T1"))
def top_down_norms(
    net: nn.Module, x: Tensor | np.ndarray, *, draws: int | None = None, root: int = 0
) -> dict[str, Float[Tensor, "*lane n"]]:
    r"""Compute √E[β_kk] of every hidden node k, where β_kk(x) = ‖∂f_L/∂f_k‖² is the square of its top-down column.

    In a two-layer network this is the fan-out ‖v_k‖; in deeper ones it stands for it (S0 figure 4). For an ``MLP`` or a
    plain Linear-ReLU-…-Linear module, only the active units of each point are multiplied, and only the diagonal is
    computed. Other modules are differentiated C times, where C is their number of outputs. With ``draws``, each
    derivative is replaced by one in a random direction with entries ±1, which has the same mean square. Then the time
    does not grow with C, and the relative standard error of E[β_kk] is about √(2/(N · draws)).

    Args:
        net: An ``MLP``, or any module with activation modules such as ``nn.ReLU`` and outputs (N, C).
        x: Points, (N, d), or for an ``MLP`` also (lane, N, d). Channels of images are nodes, and each of their pixels
            counts as a sample.
        draws: Number of random directions per point, at least 1; None for the exact value.
        root: Root seed of the random directions.

    Returns:
        For each hidden layer, by name, √E[β_kk]: (lane, n) for an ``MLP``, and (n,) otherwise.

    >>> net = MLP((2, 2, 2))
    >>> net.W[1].data[0] = torch.tensor([[3.0, 4.0], [0.0, 1.0]])
    >>> top_down_norms(net, torch.ones(1, 2))["1"].tolist()
    [[5.0, 1.0]]
    """
    x = points(x)
    if not x.dim() or not x.numel():
        raise UserError(f"expected at least one point, got x of shape {tuple(x.shape)}: give points of shape (N, …)")
    if isinstance(net, MLP):
        check_points(net, x.to(net.dtype))
    if draws is not None:
        at_least(1, draws=draws)
    plain = _plain(net) if draws is None else None
    if plain is not None:
        check_points(plain, x.to(plain.dtype))
        found = _exact(plain, x)
        if isinstance(net, MLP):
            return {str(l): norms for l, norms in enumerate(found, 1)}
        return dict(zip(_names(net, x), (norms[0] for norms in found), strict=True))
    return _by_autograd(net, x, draws, root)


def _plain(net: nn.Module) -> MLP | None:
    """Return a network as an MLP, or None if it is not a plain one."""
    try:
        return as_mlp(net)
    except UserError:
        return None


@torch.no_grad()
def _exact(net: MLP, x: Tensor) -> list[Float[Tensor, "lane n"]]:
    x = x.detach().double()
    lanes = []
    for i, x_i in enumerate(x.expand(net.lanes, *x.shape[-2:])):
        one = Network.of(net, i)
        with threads_for(one.W[-1].shape[1] * max(W.numel() for W in one.W) / 4):
            lanes.append(mean_square_columns(one, x_i))
    return [torch.stack(layer)[:, :-1].sqrt().to(net.dtype) for layer in zip(*lanes, strict=True)]


def _names(net: nn.Module, x: Tensor) -> list[str]:
    with torch.no_grad(), activations(net) as outputs:
        applied(net, fitted(net, x[:1]))
    return list(outputs)


def _by_autograd(net: nn.Module, x: Tensor, draws: int | None, root: int) -> dict[str, Tensor]:
    """Differentiate in the direction of every output, or in random directions, with blocks of points."""
    rng = stream(root, Role.CHANCE, 0)
    totals: dict[str, Tensor] = {}
    samples: dict[str, int] = {}
    types: dict[str, torch.dtype] = {}
    laned = isinstance(net, MLP)
    parts = x.split(CHUNK, dim=-2 if laned else 0)
    for part in followed(parts, "computing derivatives"):
        for which, name, grad in _derivatives(net, part, draws, rng):
            g = grad if laned else units(grad)
            totals[name] = totals.get(name, 0) + g.double().square().sum(-2)
            # The squares of all outputs add up; those of random directions are averaged, like the samples.
            samples[name] = samples.get(name, 0) + (g.shape[-2] if draws or not which else 0)
            types[name] = g.dtype
    return {name: (total / samples[name]).sqrt().to(types[name]) for name, total in totals.items()}


def _derivatives(
    net: nn.Module, x: Tensor, draws: int | None, rng: np.random.Generator
) -> Iterator[tuple[int, str, Tensor]]:
    """Yield the derivatives of each layer for every output or random direction: its number, the layer, the values."""
    with torch.enable_grad():
        f, y = _graph(net, x)
        for c in range(draws or y.shape[-1]):
            direction = torch.zeros_like(y)
            if draws:
                signs = rng.integers(0, 2, size=y.shape[-2:]) * 2.0 - 1
                direction = direction + torch.from_numpy(signs).to(direction)  # all lanes have the same directions
            else:
                direction[..., c] = 1
            grads = torch.autograd.grad(y, list(f.values()), direction, retain_graph=True, allow_unused=True)
            for (name, f_l), grad in zip(f.items(), grads, strict=True):
                yield c, name, torch.zeros_like(f_l) if grad is None else grad


def _graph(net: nn.Module, x: Tensor) -> tuple[dict[str, Tensor], Tensor]:
    """Return the activations by name and the outputs, ready to be differentiated even if all weights are frozen."""
    given = fitted(net, x).detach()
    given = given.requires_grad_(given.is_floating_point())
    if isinstance(net, MLP):
        *f, y = layers_of(net, given)
        return {str(l): f_l for l, f_l in enumerate(f, 1)}, y
    with activations(net) as outputs:
        y = applied(net, given)
    if y.dim() != 2:
        raise UserError(
            f"expected module outputs of shape (samples, outputs), got {tuple(y.shape)}: flatten them in the module"
        )
    return outputs, y
