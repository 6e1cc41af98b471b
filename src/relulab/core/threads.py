"""The number of threads of PyTorch: for small products two are slower, up to 100 times if the other core is busy."""

from collections.abc import Iterator
from contextlib import contextmanager

LARGE = 1e8
"""Multiply-adds of a product from which several threads pay off, about 5 ms on one core."""


@contextmanager
def threads(number: int) -> Iterator[int]:
    """Let PyTorch use this many threads, as a context manager or as a decorator; afterward restore the setting.

    Args:
        number: Number of threads.

    Yields:
        The number of threads before.

    >>> import torch
    >>> before = torch.get_num_threads()
    >>> with threads(3) as allowed:
    ...     torch.get_num_threads(), allowed == before
    (3, True)
    >>> torch.get_num_threads() == before
    True
    """
    import torch

    before = torch.get_num_threads()
    if number != before:
        torch.set_num_threads(number)
    try:
        yield before
    finally:
        if torch.get_num_threads() != before:
            torch.set_num_threads(before)


def one_thread():
    """Limit PyTorch to one thread, as a context manager or as a decorator.

    >>> import torch
    >>> with one_thread():
    ...     torch.get_num_threads()
    1
    """
    return threads(1)


@contextmanager
def threads_for(product: float) -> Iterator[int]:
    """Limit PyTorch to one thread for small products; for large ones, use all threads that the user allowed.

    Args:
        product: Number of multiply-adds of the largest product in a loop.

    Yields:
        The number of threads that the user allowed.

    >>> import torch
    >>> with threads(2), threads_for(16 * 100 * 100):
    ...     torch.get_num_threads()
    1
    >>> with threads(2), threads_for(5000 * 1000 * 1000):
    ...     torch.get_num_threads()
    2
    """
    import torch

    with threads(1 if product < LARGE else torch.get_num_threads()) as allowed:
        yield allowed
