"""Fully connected (leaky) ReLU networks of any depth, as a batch (lanes) of networks of one shape."""

from collections.abc import Sequence
from copy import copy, deepcopy
from itertools import pairwise
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

from relulab.core.errors import UserError
from relulab.core.short_repr import counted
from relulab.nets.plain_layers import linear_module, relu_layers


class MLP(nn.Module):
    r"""Fully connected networks f_l = σ(f_{l−1} W_l + b_l) for l < L, with a linear last layer, one network per lane.

    A weight W_l has shape (lane, n_{l−1}, n_l). Its columns are the nodes of layer l, as in the papers, and a layer of
    all lanes is computed as one batched product. A single network has one lane. The activation is σ(z) = z for z ≥ 0
    and σ(z) = ``slope`` · z for z < 0.

    All parameters are zero at first; ``relulab.nets.initial`` has functions for random initialization.

    Args:
        widths: Number of units of each layer, from the inputs to the outputs: (d, …, C).
        lanes: Number of networks.
        bias: Whether the layers have biases. If not, the biases are zeros that are not trained.
        slope: Slope of the leaky ReLU for negative inputs, from 0 (plain ReLU) to below 1.
        dtype: Data type of the parameters.

    >>> net = MLP((3, 5, 2), lanes=4)
    >>> net(torch.zeros(7, 3)).shape
    torch.Size([4, 7, 2])
    """

    def __init__(
        self,
        widths: Sequence[int],
        *,
        lanes: int = 1,
        bias: bool = True,
        slope: float = 0.0,
        dtype: torch.dtype = torch.float32,
    ):
        super().__init__()
        if len(widths) < 2 or min(*widths, lanes) < 1:
            raise UserError(
                f"expected at least two widths, with all widths and lanes at least 1, got widths={tuple(widths)} and "
                f"lanes={lanes}: give the number of units of each layer, such as (3, 5, 1)"
            )
        if not 0 <= slope < 1:
            raise UserError(f"expected a slope from 0 to below 1, got slope={slope}: use 0 for a plain ReLU")
        bias = bool(bias)  # may be a truth value of NumPy
        self.widths, self.lanes, self.bias, self.slope = tuple(widths), lanes, bias, slope
        shapes = list(pairwise(widths))
        self.W = nn.ParameterList(nn.Parameter(torch.zeros(lanes, n, k, dtype=dtype)) for n, k in shapes)
        # Networks without biases have biases of zero that are not trained, so that the forward pass is the same.
        self.b = nn.ParameterList(
            nn.Parameter(torch.zeros(lanes, 1, k, dtype=dtype), requires_grad=bias) for _, k in shapes
        )

    def __repr__(self) -> str:
        biases, slope = "" if self.bias else ", no biases", f", slope {self.slope:g}" if self.slope else ""
        return f"{type(self).__name__}({described_shape(self)}{biases}{slope})"

    @property
    def depth(self) -> int:
        """The number L of weight layers."""
        return len(self.W)

    @property
    def dtype(self) -> torch.dtype:
        """The data type of the parameters."""
        return self.W[0].dtype

    def layers(self, x: Float[Tensor, "*lane N d"]) -> list[Float[Tensor, "lane N n"]]:
        """Return all activations [f_1, …, f_L]; the last one is the output.

        Args:
            x: Points, (N, d) for all lanes, or (lane, N, d).
        """
        try:
            previous = x.expand(self.lanes, *x.shape[-2:])
            f = []
            for W, b in zip(self.W[:-1], self.b[:-1], strict=True):
                previous = nn.functional.leaky_relu(torch.baddbmm(b, previous, W), self.slope)
                f.append(previous)
            return [*f, torch.baddbmm(self.b[-1], previous, self.W[-1])]
        except (RuntimeError, AttributeError, TypeError, IndexError):
            check_points(self, x)
            raise

    def forward(self, x: Float[Tensor, "*lane N d"]) -> Float[Tensor, "lane N C"]:
        return self.layers(x)[-1]

    def lane(self, i: int) -> "MLP":
        """Return lane ``i`` as an MLP with one lane that shares its memory.

        Args:
            i: Index of the lane.
        """
        i, net = self._index(i), copy(self)  # a subclass may have other arguments than this class
        net.lanes, net._modules = 1, dict(self._modules)
        net.W, net.b = (
            nn.ParameterList(nn.Parameter(p.data[i : i + 1], requires_grad=p.requires_grad) for p in parameters)
            for parameters in (self.W, self.b)
        )
        return net

    def module(self, i: int = 0) -> nn.Sequential:
        """Return lane ``i`` as a plain ``nn.Sequential`` with a copy of the weights.

        Args:
            i: Index of the lane.
        """
        if computes_otherwise(self):
            raise UserError(
                f"expected a plain MLP, got a {type(self).__name__} with its own forward or layers, which is another "
                "function than its weights suggest: use an MLP, or a module that computes the same"
            )
        i, parts = self._index(i), list[nn.Module]()
        for W, b in zip(self.W, self.b, strict=True):
            linear = linear_module((W.data[i].T, b.data[i, 0] if self.bias else None))
            parts += [linear, nn.LeakyReLU(self.slope) if self.slope else nn.ReLU()]
        return nn.Sequential(*parts[:-1])

    def folded(self) -> "MLP":
        """Return a plain MLP that computes the same in eval mode: this one, or one that includes its BatchNorm."""
        if computes_otherwise(self):
            raise UserError(
                f"expected a plain (leaky) ReLU network, got a {type(self).__name__} with its own forward or layers: "
                "use an MLP, or a module that computes the same"
            )
        return self

    def _index(self, i: int) -> int:
        """Return the index of a lane from 0; −1 is the last lane."""
        if not -self.lanes <= i < self.lanes:
            raise UserError(f"expected one of {counted(self.lanes, 'lane')}, got lane {i}: lanes are counted from 0")
        return i % self.lanes

    @classmethod
    def of(cls, *modules: nn.Module) -> "MLP":
        """Combine plain networks (Linear, ReLU, Linear, …) of one shape into one MLP, one per lane.

        BatchNorm1d is folded into the linear layers, in eval mode.

        Args:
            modules: ``nn.Sequential`` modules, or programs read by ``relulab.load``.

        >>> MLP.of(nn.Sequential(nn.Linear(3, 5), nn.ReLU(), nn.Linear(5, 2))).widths
        (3, 5, 2)
        """
        networks = [relu_layers(module) for module in modules]
        shapes = {(tuple(W.shape for W, _ in linears), slope) for linears, slope in networks}
        if len(shapes) != 1:
            raise UserError(
                f"expected networks with the same shape and slope, got {len(networks)} networks with {len(shapes)} "
                "different shapes or slopes: make one MLP for each shape"
            )
        linears, slope = networks[0]
        widths = (linears[0][0].shape[1], *(W.shape[0] for W, _ in linears))
        bias = any(b is not None for linears, _ in networks for _, b in linears)
        net = cls(widths, lanes=len(modules), bias=bias, slope=slope, dtype=linears[0][0].dtype)
        for i, (linears, _) in enumerate(networks):
            for l, (W, b) in enumerate(linears):
                net.W[l].data[i] = W.T
                if b is not None:
                    net.b[l].data[i, 0] = b
        return net


def as_mlp(net: nn.Module) -> MLP:
    """Return a network as an MLP, or refuse a network that is not a (leaky) ReLU network.

    Args:
        net: An ``MLP``, which is returned itself, a ``BatchNormMLP``, whose BatchNorm is included in the weights, or a
            module that ``MLP.of`` accepts.
    """
    return net.folded() if isinstance(net, MLP) else MLP.of(net)


def computes_otherwise(net: MLP) -> bool:
    """Whether a network has its own forward pass, in a subclass or in the object, so that it may be another function.

    Args:
        net: The network.
    """
    own = {"forward", "layers"} & vars(net).keys()
    return bool(own) or type(net).forward is not MLP.forward or type(net).layers is not MLP.layers


def described_shape(net: Any) -> str:
    """Return the widths, the number of lanes and the data type of a network in words.

    Args:
        net: A network with ``widths`` and ``lanes``, such as an ``MLP``.

    >>> described_shape(MLP((3, 5, 2), lanes=4))
    '3-5-2, 4 lanes, float32'
    """
    return f"{'-'.join(map(str, net.widths))}, {counted(net.lanes, 'lane')}, {str(net.dtype).removeprefix('torch.')}"


def check_points(net: Any, x: Any) -> None:
    """Raise a ``UserError`` if ``x`` are not points of a network with lanes.

    Args:
        net: A network with ``widths`` and ``lanes``, such as an ``MLP``.
        x: Points, (N, d) for all lanes, or (lane, N, d).
    """
    d, lanes = net.widths[0], net.lanes
    if not isinstance(x, Tensor):
        raise UserError(f"expected points as a tensor of shape (N, {d}), got {type(x).__name__}: use torch.as_tensor")
    if x.dim() not in (2, 3) or x.shape[-1] != d or (x.dim() == 3 and x.shape[0] not in (1, lanes)):
        raise UserError(
            f"expected points of shape (N, {d}) or ({lanes}, N, {d}) for {net!r}, got {tuple(x.shape)}: reshape them, "
            "or use another network"
        )
    if x.dtype != net.W[0].dtype and not torch.is_autocast_enabled(x.device.type):
        raise UserError(
            f"expected points of the type of the network, {net.W[0].dtype}, got {x.dtype}: convert one of them, for "
            "example with x.to(net.dtype)"
        )


def absolute(net: MLP) -> MLP:
    """Return a copy of the network with the absolute values of all parameters.

    Its activations at |x| bound all intermediate results of ``net`` at x, as needed for bounds on rounding errors.

    Args:
        net: The network.
    """
    net = deepcopy(net)
    for p in net.parameters():
        p.data.abs_()
    return net
