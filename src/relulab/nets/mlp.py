"""Fully connected (leaky) ReLU networks of any depth, many of one shape side by side."""

from collections.abc import Iterator, Sequence
from copy import deepcopy
from itertools import pairwise

import torch
from jaxtyping import Float
from torch import Tensor, nn

from relulab.core.errors import UserError


class MLP(nn.Module):
    r"""Networks f_l = σ(f_{l-1} W_l + b_l), l < L, with a linear top layer, one network a lane.

    A weight W_l has shape (lane, n_{l-1}, n_l): its columns are the nodes of layer l, as in the papers, and a layer of
    all lanes is one batched product. A single network is one lane. σ(z) = z for z ≥ 0 and ``slope`` · z below.

    Parameters start at zero; ``relulab.nets.initial`` has the random starts.

    Args:
        widths: Units of each layer, the inputs first: (d, …, C).
        lanes: Number of networks side by side.
        bias: Whether the layers have biases. Without, they are zeros that nothing trains.
        slope: Slope of the leaky ReLU below 0, from 0 (plain ReLU) to below 1.
        dtype: Floating type of the parameters.

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
            raise UserError(f"widths {tuple(widths)} with {lanes} lanes: at least two widths, all of them at least 1")
        if not 0 <= slope < 1:
            raise UserError(f"slope {slope}: a leaky ReLU has a slope from 0 (plain ReLU) to below 1")
        self.widths, self.lanes, self.bias, self.slope = tuple(widths), lanes, bias, slope
        shapes = list(pairwise(widths))
        self.W = nn.ParameterList(nn.Parameter(torch.zeros(lanes, n, k, dtype=dtype)) for n, k in shapes)
        # Without biases they stay as zeros that nothing trains, so that every forward pass is the same code.
        self.b = nn.ParameterList(
            nn.Parameter(torch.zeros(lanes, 1, k, dtype=dtype), requires_grad=bias) for _, k in shapes
        )

    @property
    def depth(self) -> int:
        """L, the number of weight layers."""
        return len(self.W)

    @property
    def dtype(self) -> torch.dtype:
        return self.W[0].dtype

    def layers(self, x: Float[Tensor, "*lane N d"]) -> list[Float[Tensor, "lane N n"]]:
        """All activations [f_1, …, f_L]; the last one is the output. ``x`` may have a lane axis or be shared by all."""
        below = x.expand(self.lanes, *x.shape[-2:])
        f = []
        for W, b in zip(self.W[:-1], self.b[:-1], strict=True):
            below = nn.functional.leaky_relu(torch.baddbmm(b, below, W), self.slope)
            f.append(below)
        return [*f, torch.baddbmm(self.b[-1], below, self.W[-1])]

    def forward(self, x: Float[Tensor, "*lane N d"]) -> Float[Tensor, "lane N C"]:
        return self.layers(x)[-1]

    def lane(self, i: int) -> "MLP":
        """Network ``i`` as an MLP of one lane that shares memory with this one."""
        one = type(self)(self.widths, bias=self.bias, slope=self.slope, dtype=self.dtype)
        for mine, its in ((self.W, one.W), (self.b, one.b)):
            for l, p in enumerate(mine):
                its[l] = nn.Parameter(p.data[i : i + 1], requires_grad=p.requires_grad)
        return one

    def module(self, i: int = 0) -> nn.Sequential:
        """Network ``i`` as a plain ``nn.Sequential`` with weights of its own."""
        parts: list[nn.Module] = []
        for W, b in zip(self.W, self.b, strict=True):
            # Without the start that PyTorch would draw, from its global stream.
            linear = nn.Linear(W.shape[1], W.shape[2], bias=self.bias, dtype=self.dtype, device="meta")
            linear.weight = nn.Parameter(W.data[i].T.clone(memory_format=torch.contiguous_format))
            if self.bias:
                linear.bias = nn.Parameter(b.data[i, 0].clone())
            parts += [linear, nn.LeakyReLU(self.slope) if self.slope else nn.ReLU()]
        return nn.Sequential(*parts[:-1])

    @classmethod
    def of(cls, *modules: nn.Module) -> "MLP":
        """Plain ``nn.Sequential`` networks (Linear, ReLU, Linear, …) of one shape as the lanes of one MLP.

        >>> MLP.of(nn.Sequential(nn.Linear(3, 5), nn.ReLU(), nn.Linear(5, 2))).widths
        (3, 5, 2)
        """
        read = [_read(module) for module in modules]
        shapes = {(tuple(W.shape for W, _ in linears), slope) for linears, slope in read}
        if len(shapes) != 1:
            raise UserError(f"lanes need networks of one shape, at least one of them; given were {len(shapes)} shapes")
        linears, slope = read[0]
        widths = (linears[0][0].shape[1], *(W.shape[0] for W, _ in linears))
        bias = any(b is not None for linears, _ in read for _, b in linears)
        net = cls(widths, lanes=len(modules), bias=bias, slope=slope, dtype=linears[0][0].dtype)
        for i, (linears, _) in enumerate(read):
            for l, (W, b) in enumerate(linears):
                net.W[l].data[i] = W.T
                if b is not None:
                    net.b[l].data[i, 0] = b
        return net


def absolute(net: MLP) -> MLP:
    """The network of all weights' absolute values: on |x| it bounds every partial result, for rounding allowances."""
    net = deepcopy(net)
    for p in net.parameters():
        p.data.abs_()
    return net


def _read(module: nn.Module) -> tuple[list[tuple[Tensor, Tensor | None]], float]:
    """Weights and slope of Linear-ReLU-…-Linear, or a sentence that says what is in the way.

    Only Sequential modules are read: of any other, the parts do not tell what it computes.
    """
    parts = list(_flat(module))
    linears, between = [m for m in parts[::2] if isinstance(m, nn.Linear)], parts[1::2]
    fits = len(parts) % 2 and len(linears) == len(parts[::2])
    slopes = {m.negative_slope if isinstance(m, nn.LeakyReLU) else 0.0 for m in between}
    if not fits or not all(isinstance(m, nn.ReLU | nn.LeakyReLU) for m in between) or len(slopes) > 1:
        names = "-".join(type(m).__name__ for m in parts)
        raise UserError(
            f"expected was an nn.Sequential of Linear-ReLU-…-Linear with one slope, given was {names}; of a network "
            "written otherwise save the state dict and read it with relulab.load"
        )
    return [(m.weight.data, None if m.bias is None else m.bias.data) for m in linears], slopes.pop() if slopes else 0.0


def _flat(module: nn.Module) -> Iterator[nn.Module]:
    if isinstance(module, nn.Sequential):
        for part in module:
            yield from _flat(part)
    else:
        yield module
