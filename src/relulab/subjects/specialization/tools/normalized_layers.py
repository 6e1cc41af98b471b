"""The linear layers of a sequential network whose nodes are normalized by BatchNorm, directly or after their ReLU."""

from collections.abc import Iterator
from typing import NamedTuple, TypeAlias

import torch
from jaxtyping import Float
from torch import Tensor, nn

from relulab.core.errors import UserError
from relulab.nets.mlp import MLP

Linear: TypeAlias = nn.Linear | nn.Conv1d | nn.Conv2d | nn.Conv3d
Norm: TypeAlias = nn.BatchNorm1d | nn.BatchNorm2d | nn.BatchNorm3d
LINEAR = (nn.Linear, nn.Conv1d, nn.Conv2d, nn.Conv3d)
NORMS = (nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d)
RECTIFIERS = (nn.ReLU, nn.LeakyReLU)
POOLS = (
    nn.Identity, nn.MaxPool1d, nn.MaxPool2d, nn.MaxPool3d, nn.AvgPool1d, nn.AvgPool2d, nn.AvgPool3d,
    nn.AdaptiveAvgPool1d, nn.AdaptiveAvgPool2d, nn.AdaptiveAvgPool3d,
)  # fmt: skip
Part = tuple[str, nn.Module]


class Layer(NamedTuple):
    """A linear layer and the BatchNorm that normalizes its nodes.

    Args:
        name: Name of the linear layer in the network.
        linear: The linear layer.
        norm: BatchNorm after it, or None.
        rectified: Whether a ReLU lies between the two.
    """

    name: str
    linear: Linear
    norm: Norm | None
    rectified: bool

    def parameters(self, with_bias: bool = True) -> list[nn.Parameter]:
        """Return what w_j consists of: the weights, and the bias if a ReLU lies between it and BatchNorm.

        Args:
            with_bias: False leaves out the bias.
        """
        counts = with_bias and (self.rectified or self.norm is None) and self.linear.bias is not None
        return [self.linear.weight, *([self.linear.bias] if counts else [])]  # type: ignore[list-item]

    def rows(self, with_bias: bool = True) -> Float[Tensor, "n k"]:
        """Return the vectors w_j of all nodes, (n, k). For a convolution, w_j is a filter.

        Args:
            with_bias: False leaves out the bias.
        """
        return as_rows([p.detach() for p in self.parameters(with_bias)])


def as_module(net: nn.Module) -> nn.Module:
    """Return an ``MLP`` or ``BatchNormMLP`` with one lane as an ``nn.Sequential``, and other modules unchanged.

    Args:
        net: The network.
    """
    if not isinstance(net, MLP):
        return net
    if net.lanes != 1:
        raise UserError(f"expected one network, got {net.lanes} lanes: select one with net.lane(i)")
    return net.module()


def as_rows(parameters: list[Tensor]) -> Float[Tensor, "n k"]:
    """Return weights of shape (n, …) and biases of shape (n,) as one row per node.

    Args:
        parameters: The weights, and possibly the biases.
    """
    return torch.cat([p.reshape(len(p), -1) for p in parameters], 1)


def sequential_parts(net: nn.Module) -> list[Part]:
    """Return the modules of a network with their names, in the order of their calls.

    Args:
        net: An ``nn.Sequential``, which may contain others.
    """
    if not isinstance(net, nn.Sequential):
        raise UserError(
            f"expected an nn.Sequential, got {type(net).__name__}: its modules must be called one after the other"
        )
    parts = list(_parts("", net))
    own = [id(p) for _, module in parts for p in module.parameters()]
    own += [id(module) for _, module in parts if isinstance(module, NORMS)]
    if len(set(own)) < len(own):
        raise UserError("expected every layer once, but two layers of the network share their weights: copy them")
    return parts


def _parts(prefix: str, net: nn.Sequential) -> Iterator[Part]:
    for name, module in net.named_modules(remove_duplicate=False):
        if not name or "." in name:  # only the children themselves
            continue
        if isinstance(module, nn.Sequential):
            yield from _parts(f"{prefix}{name}.", module)
        else:
            yield f"{prefix}{name}", module


def normalized_layers(parts: list[Part], *, everywhere: bool = False) -> list[Layer]:
    """Return the layers Linear → BatchNorm and Linear → ReLU → BatchNorm. Pooling may lie between.

    Args:
        parts: Modules of a network, from ``sequential_parts``.
        everywhere: Whether to return all other linear layers but the last, too.
    """
    found, linears = [], [i for i, (_, module) in enumerate(parts) if isinstance(module, LINEAR)]
    for i in linears:
        between, norm = [], None
        for _, module in parts[i + 1 :]:
            if isinstance(module, NORMS):
                norm = module
            if not isinstance(module, RECTIFIERS + POOLS):
                break
            between.append(module)
        if norm is not None or (everywhere and i != linears[-1]):
            rectified = any(isinstance(module, RECTIFIERS) for module in between)
            found.append(Layer(parts[i][0], parts[i][1], norm, rectified))  # type: ignore[arg-type]
    return found
