"""Hooks of networks and parameters, and parameters that share memory: only autograd takes them into account."""

from collections.abc import Iterable
from itertools import pairwise
from typing import Any

from torch import Tensor, nn
from torch.nn.modules import module as modules

from relulab.core.errors import UserError

GLOBAL = ("_global_forward_hooks", "_global_forward_pre_hooks", "_global_backward_hooks", "_global_backward_pre_hooks")
OWN = ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks")


def hooks_of(parameter: Tensor) -> list[Any]:
    """Return the functions that autograd calls with the gradient of a tensor.

    Args:
        parameter: The tensor.
    """
    return [*(parameter._backward_hooks or {}).values(), *after_gradient(parameter)]


def after_gradient(parameter: Tensor) -> list[Any]:
    """Return the functions that PyTorch calls after it has stored the gradient of a tensor in ``grad``.

    Args:
        parameter: The tensor.
    """
    return [*(getattr(parameter, "_post_accumulate_grad_hooks", None) or {}).values()]


def hooked(net: nn.Module) -> bool:
    """Whether a hook is registered on the network, on a part of it, on a parameter, or on all modules.

    Args:
        net: The network.
    """
    everywhere = any(getattr(modules, name, None) for name in GLOBAL)
    own = any(getattr(module, name, None) for module in net.modules() for name in OWN)
    return everywhere or own or any(hooks_of(parameter) for parameter in net.parameters())


def apart(parameters: Iterable[Tensor]) -> bool:
    """Whether no two parameters share memory, as tied weights do.

    Args:
        parameters: The parameters.
    """
    spans = []
    for p in parameters:
        last = sum((n - 1) * stride for n, stride in zip(p.shape, p.stride(), strict=True))
        spans.append((p.data_ptr(), p.data_ptr() + (last + 1) * p.element_size()))
    return all(end <= start for (_, end), (start, _) in pairwise(sorted(spans)))


def refuse_stored_gradient_hooks(net: nn.Module) -> None:
    """Refuse hooks that need ``grad``, which is not used for lanes.

    Args:
        net: A network with lanes.
    """
    for name, parameter in net.named_parameters():
        if after_gradient(parameter):
            raise UserError(
                "expected parameters of lanes without hooks on the stored gradient, got a hook by "
                f"register_post_accumulate_grad_hook on {name}: use register_hook instead"
            )
