"""The linear layers of a plain network, with BatchNorm folded into them."""

from collections.abc import Iterator

import torch
from jaxtyping import Float
from torch import Tensor, nn

from relulab.core.errors import UserError
from relulab.nets.activations import ACTIVATIONS, activation_text

IDLE = (nn.Dropout, nn.AlphaDropout, nn.Identity, nn.Flatten)  # modules that change nothing in eval mode
Layer = tuple[Tensor, Tensor | None]
"""weight (out, in) and bias (out,)"""


def relu_layers(module: nn.Module) -> tuple[list[Layer], float]:
    """Return the linear layers of a Linear-ReLU-…-Linear network, and the slope of its leaky ReLU.

    Dropout, Identity and Flatten are left out. BatchNorm1d, in eval mode, is folded into the linear layer before it, or
    after a ReLU into the next one. Only Sequential modules and exported programs are accepted, because the submodules
    of other modules do not determine what they compute.

    Args:
        module: The network.
    """
    parts = _folded([part for part in flat_parts(module) if not isinstance(part, IDLE)])
    linears, between = [m for m in parts[::2] if isinstance(m, nn.Linear)], parts[1::2]
    shape = "-".join(type(m).__name__ for m in parts) or "nothing"
    if not len(parts) % 2 or len(linears) != len(parts[::2]) or not all(isinstance(m, ACTIVATIONS) for m in between):
        raise UserError(
            f"expected an nn.Sequential of Linear-ReLU-…-Linear, got {shape}: for a module of another class that "
            "computes this, save its state dict and read it with relulab.load"
        )
    other = [m for m in between if not isinstance(m, nn.ReLU | nn.LeakyReLU)]
    if other:
        raise UserError(f"expected a ReLU between linear layers, got {activation_text(other[0])}: use a ReLU network")
    slopes = {m.negative_slope if isinstance(m, nn.LeakyReLU) else 0.0 for m in between}
    if len(slopes) > 1:
        raise UserError(f"expected one slope in all layers, got slopes {sorted(slopes)}: use the same ReLU everywhere")
    layers = [(m.weight.data, None if m.bias is None else m.bias.data) for m in linears]
    return layers, slopes.pop() if slopes else 0.0


def batch_norm_map(
    weight: Tensor | None, bias: Tensor | None, mean: Tensor, variance: Tensor, epsilon: float
) -> tuple[Float[Tensor, " n"], Float[Tensor, " n"]]:
    """Return s and t such that BatchNorm in eval mode is x ↦ s x + t: s = γ/√(σ² + ε), t = β − μ s.

    Args:
        weight: γ, or None for ones.
        bias: β, or None for zeros.
        mean: The running mean μ.
        variance: The running variance σ².
        epsilon: ε, which is added to the variance.
    """
    s = (torch.ones_like(mean) if weight is None else weight) / (variance + epsilon).sqrt()
    return s, (torch.zeros_like(mean) if bias is None else bias) - mean * s


def scaled_outputs(layer: Layer, s: Tensor, t: Tensor) -> tuple[Tensor, Tensor]:
    """Return the layer followed by x ↦ s x + t.

    Args:
        layer: A linear layer.
        s: The factors, one per output.
        t: The shifts, one per output.
    """
    W, b = layer
    return W * s[:, None], t if b is None else b * s + t


def scaled_inputs(layer: Layer, s: Tensor, t: Tensor) -> tuple[Tensor, Tensor]:
    """Return x ↦ s x + t followed by the layer.

    Args:
        layer: A linear layer.
        s: The factors, one per input.
        t: The shifts, one per input.
    """
    W, b = layer
    return W * s, W @ t if b is None else b + W @ t


def flat_parts(module: nn.Module) -> Iterator[nn.Module]:
    """Yield the parts of nested Sequential modules in order; any other module is one part.

    Args:
        module: The module, or an exported program.
    """
    if hasattr(module, "as_sequential"):  # an exported program
        module = module.as_sequential()  # type: ignore[operator]
    if isinstance(module, nn.Sequential):
        for part in module:
            yield from flat_parts(part)
    else:
        yield module


def _folded(parts: list[nn.Module]) -> list[nn.Module]:
    """Fold every BatchNorm1d into a neighboring linear layer. The given modules are not changed."""
    parts, i = list(parts), 0
    while i < len(parts):
        norm = parts[i]
        if not isinstance(norm, nn.BatchNorm1d):
            i += 1
            continue
        if norm.running_mean is None or norm.running_var is None:
            raise UserError(
                "expected a BatchNorm1d with running statistics, got track_running_stats=False, which has no fixed "
                "function: use running statistics"
            )
        s, t = batch_norm_map(norm.weight, norm.bias, norm.running_mean, norm.running_var, norm.eps)
        before, after = (parts[k] if 0 <= k < len(parts) else None for k in (i - 1, i + 1))
        if isinstance(before, nn.Linear):
            parts[i - 1] = linear_module(scaled_outputs((before.weight, before.bias), s, t))
        elif isinstance(after, nn.Linear):
            parts[i + 1] = linear_module(scaled_inputs((after.weight, after.bias), s, t))
        else:
            raise UserError("expected a Linear layer next to every BatchNorm1d: remove the BatchNorm1d, or move it")
        del parts[i]
    return parts


def linear_module(layer: Layer) -> nn.Linear:
    """Return a module with a copy of the weights of a layer.

    Args:
        layer: A linear layer.
    """
    W, b = layer
    # On the meta device, so that PyTorch does not draw initial weights from its global generator.
    linear = nn.Linear(W.shape[1], W.shape[0], bias=b is not None, dtype=W.dtype, device="meta")
    linear.weight = nn.Parameter(W.detach().clone(memory_format=torch.contiguous_format))
    if b is not None:
        linear.bias = nn.Parameter(b.detach().clone())
    return linear
