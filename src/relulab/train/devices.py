"""Where a network computes while it trains, and that it is left as it was found."""

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import chain

import torch
from torch import nn

from relulab.core.errors import UserError


def home_of(net: nn.Module) -> torch.device:
    """The device of a network's tensors."""
    return next((tensor.device for tensor in chain(net.parameters(), net.buffers())), torch.device("cpu"))


def found_device(name: str | torch.device | None, home: torch.device) -> torch.device:
    """The device of that name, ``home`` if there is no name; a sentence if PyTorch cannot compute there."""
    if name is None:
        return home
    try:
        return torch.empty(0, device=name).device
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        reason = str(error).strip().splitlines()[0]
        raise UserError(f"device {name}: PyTorch cannot compute there ({reason}); cpu always works") from None


@contextmanager
def at_work(net: nn.Module, device: torch.device) -> Iterator[None]:
    """While open, ``net`` is on ``device`` and in train mode, and PyTorch's generator may be set as training likes."""
    home, modes = home_of(net), [(module, module.training) for module in net.modules()]
    with torch.random.fork_rng([] if device.type == "cpu" else [device], device_type=_accelerator(device)):
        if device != home:
            net.to(device)
        net.train()
        try:
            yield
        finally:
            if device != home:
                net.to(home)
            for module, training in modes:
                module.training = training


def _accelerator(device: torch.device) -> str:
    return "cuda" if device.type == "cpu" else device.type
