"""Fully connected (leaky) ReLU networks of any depth, as a batch (lanes) of networks of one shape."""

from collections.abc import Iterator, Sequence
from copy import deepcopy
from itertools import pairwise

import torch
from jaxtyping import Float
from torch import Tensor, nn

from relulab.core.errors import UserError


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
        self.widths, self.lanes, self.bias, self.slope = tuple(widths), lanes, bias, slope
        shapes = list(pairwise(widths))
        self.W = nn.ParameterList(nn.Parameter(torch.zeros(lanes, n, k, dtype=dtype)) for n, k in shapes)
        # Networks without biases have biases of zero that are not trained, so that the forward pass is the same.
        self.b = nn.ParameterList(
            nn.Parameter(torch.zeros(lanes, 1, k, dtype=dtype), requires_grad=bias) for _, k in shapes
        )

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
        previous = x.expand(self.lanes, *x.shape[-2:])
        f = []
        for W, b in zip(self.W[:-1], self.b[:-1], strict=True):
            previous = nn.functional.leaky_relu(torch.baddbmm(b, previous, W), self.slope)
            f.append(previous)
        return [*f, torch.baddbmm(self.b[-1], previous, self.W[-1])]

    def forward(self, x: Float[Tensor, "*lane N d"]) -> Float[Tensor, "lane N C"]:
        return self.layers(x)[-1]

    def lane(self, i: int) -> "MLP":
        """Return lane ``i`` as an MLP with one lane that shares its memory.

        Args:
            i: Index of the lane.
        """
        net = type(self)(self.widths, bias=self.bias, slope=self.slope, dtype=self.dtype)
        for parameters, lane_parameters in ((self.W, net.W), (self.b, net.b)):
            for l, p in enumerate(parameters):
                lane_parameters[l] = nn.Parameter(p.data[i : i + 1], requires_grad=p.requires_grad)
        return net

    def module(self, i: int = 0) -> nn.Sequential:
        """Return lane ``i`` as a plain ``nn.Sequential`` with a copy of the weights.

        Args:
            i: Index of the lane.
        """
        parts: list[nn.Module] = []
        for W, b in zip(self.W, self.b, strict=True):
            # On the meta device, so that PyTorch does not draw initial weights from its global generator.
            linear = nn.Linear(W.shape[1], W.shape[2], bias=self.bias, dtype=self.dtype, device="meta")
            linear.weight = nn.Parameter(W.data[i].T.clone(memory_format=torch.contiguous_format))
            if self.bias:
                linear.bias = nn.Parameter(b.data[i, 0].clone())
            parts += [linear, nn.LeakyReLU(self.slope) if self.slope else nn.ReLU()]
        return nn.Sequential(*parts[:-1])

    @classmethod
    def of(cls, *modules: nn.Module) -> "MLP":
        """Combine plain ``nn.Sequential`` networks (Linear, ReLU, Linear, …) of one shape into one MLP, one per lane.

        Args:
            modules: The networks.

        >>> MLP.of(nn.Sequential(nn.Linear(3, 5), nn.ReLU(), nn.Linear(5, 2))).widths
        (3, 5, 2)
        """
        networks = [_read(module) for module in modules]
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


def _read(module: nn.Module) -> tuple[list[tuple[Tensor, Tensor | None]], float]:
    """Return weights, biases and slope of a Linear-ReLU-…-Linear network.

    Only Sequential modules are accepted, because the submodules of other modules do not determine what they compute.
    """
    parts = list(_flat(module))
    linears, between = [m for m in parts[::2] if isinstance(m, nn.Linear)], parts[1::2]
    fits = len(parts) % 2 and len(linears) == len(parts[::2])
    slopes = {m.negative_slope if isinstance(m, nn.LeakyReLU) else 0.0 for m in between}
    if not fits or not all(isinstance(m, nn.ReLU | nn.LeakyReLU) for m in between) or len(slopes) > 1:
        names = "-".join(type(m).__name__ for m in parts)
        raise UserError(
            f"expected an nn.Sequential of Linear-ReLU-…-Linear with one slope, got {names}: for a module of another "
            "class that computes this, save its state dict and read it with relulab.load"
        )
    return [(m.weight.data, None if m.bias is None else m.bias.data) for m in linears], slopes.pop() if slopes else 0.0


def _flat(module: nn.Module) -> Iterator[nn.Module]:
    if isinstance(module, nn.Sequential):
        for part in module:
            yield from _flat(part)
    else:
        yield module
