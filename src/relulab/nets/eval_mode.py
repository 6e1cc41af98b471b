"""Evaluation of a module without Dropout and with the running averages of BatchNorm."""

from collections.abc import Iterator
from contextlib import contextmanager

from torch import nn


@contextmanager
def eval_mode(module: nn.Module) -> Iterator[None]:
    """Put a module and its parts in eval mode; afterward, each part has its previous mode again.

    Args:
        module: The module.

    >>> net = nn.Sequential(nn.Dropout(), nn.Dropout().eval())
    >>> with eval_mode(net):
    ...     any(part.training for part in net)
    False
    >>> [part.training for part in net]
    [True, False]
    """
    training = [part for part in module.modules() if part.training]
    module.eval()
    try:
        yield
    finally:
        for part in training:
            part.training = True
