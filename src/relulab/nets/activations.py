"""Activations by name, and which modules count as activations."""

from collections.abc import Callable

from torch import nn

from relulab.core.errors import UserError, nearest

RECTIFIERS = (nn.ReLU, nn.LeakyReLU, nn.ReLU6, nn.PReLU)
"""activations whose outputs count as units wherever they are, even at the output of a network"""

BY_NAME: dict[str, Callable[[], nn.Module]] = {
    "relu": nn.ReLU, "leaky_relu": nn.LeakyReLU, "relu6": nn.ReLU6, "tanh": nn.Tanh, "sigmoid": nn.Sigmoid,
    "gelu": nn.GELU, "silu": nn.SiLU, "elu": nn.ELU, "selu": nn.SELU, "celu": nn.CELU, "mish": nn.Mish,
    "softplus": nn.Softplus, "softsign": nn.Softsign, "hardtanh": nn.Hardtanh, "hardswish": nn.Hardswish,
}  # fmt: skip
ACTIVATIONS = (
    *RECTIFIERS, nn.Tanh, nn.Sigmoid, nn.GELU, nn.SiLU, nn.ELU, nn.SELU, nn.CELU, nn.Mish, nn.Softplus, nn.Softsign,
    nn.Hardtanh, nn.Hardswish,
)  # fmt: skip


def activation_module(name: str) -> nn.Module:
    """Return the module of an activation with PyTorch's default parameters.

    Args:
        name: The name in ``torch.nn.functional``, such as "tanh" or "gelu", in upper or lower case.

    >>> activation_module("Tanh")
    Tanh()
    """
    key = name.lower().replace("-", "_")
    key = {"leakyrelu": "leaky_relu", "swish": "silu"}.get(key, key)
    if key not in BY_NAME:
        raise UserError(f"unknown activation {name!r}: {nearest(name, BY_NAME)}")
    return BY_NAME[key]()


def activation_text(module: nn.Module) -> str:
    """Describe an activation in a few words.

    Args:
        module: The activation.

    >>> activation_text(nn.LeakyReLU(0.1)), activation_text(nn.GELU())
    ('leaky ReLU with slope 0.1', 'GELU')
    """
    if isinstance(module, nn.LeakyReLU) and module.negative_slope:
        return f"leaky ReLU with slope {module.negative_slope:g}"
    return "ReLU" if isinstance(module, nn.LeakyReLU) else type(module).__name__
