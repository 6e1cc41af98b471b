"""One thread: two of them lose on small products, by a hundredfold where the other core is busy."""

from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def one_thread() -> Iterator[None]:
    """While open, or around a function that it decorates, PyTorch computes on one thread.

    >>> import torch
    >>> with one_thread():
    ...     torch.get_num_threads()
    1
    """
    import torch

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)
