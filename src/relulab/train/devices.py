"""The device of a network during training, and restoring its device and modes afterward."""

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import chain

import torch
from torch import nn

from relulab.core.errors import UserError


def home_of(net: nn.Module) -> torch.device:
    """Return the device of the network's tensors."""
    return next((tensor.device for tensor in chain(net.parameters(), net.buffers())), torch.device("cpu"))


def found_device(name: str | torch.device | None, home: torch.device) -> torch.device:
    """Return the device with this name, or ``home`` if no name is given; raise ``UserError`` if it is not available.

    Args:
        name: Name of the device, such as "cuda".
        home: The device of the network.
    """
    if name is None:
        return home
    try:
        return torch.empty(0, device=name).device
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        reason = str(error).strip().splitlines()[0]
        raise UserError(
            f"expected a device that PyTorch can use, got {name} ({reason}): choose another one, such as cpu"
        ) from None


@contextmanager
def at_work(net: nn.Module, device: torch.device) -> Iterator[None]:
    """Move ``net`` to ``device`` and set train mode; afterward restore both and PyTorch's random generator.

    Training needs gradients, so it also works inside ``torch.no_grad()``.
    """
    home, modes = home_of(net), [(module, module.training) for module in net.modules()]
    with (
        torch.inference_mode(False),
        torch.enable_grad(),
        torch.random.fork_rng([] if device.type == "cpu" else [device], device_type=_accelerator(device)),
    ):
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


class AsideRandom:
    """PyTorch's random numbers for probes: a sequence of their own, so that probes do not change the training."""

    def __init__(self, device: torch.device):
        self.device, self.state = device, torch.get_rng_state()

    @contextmanager
    def __call__(self) -> Iterator[None]:
        """Continue the sequence of the probes in this block, and that of the training after it."""
        with torch.random.fork_rng(
            [] if self.device.type == "cpu" else [self.device], device_type=_accelerator(self.device)
        ):
            torch.set_rng_state(self.state)
            yield
            self.state = torch.get_rng_state()


def _accelerator(device: torch.device) -> str:
    return "cuda" if device.type == "cpu" else device.type
