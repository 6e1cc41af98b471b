"""A client of a dask scheduler that Ctrl-C can interrupt while it connects."""

import logging
from typing import Any

from distributed import Client


class DaskClient(Client):
    """A client that ends at once if it is interrupted before it is connected.

    A client that was interrupted in its constructor would try to close its connection when it is deleted, wait for an
    answer in vain, and print a traceback; its open stream would be reported as well. Connected clients are closed by
    their ``with`` block.
    """

    def __init__(self, *args: Any, **options: Any):
        try:
            super().__init__(*args, **options)
        except KeyboardInterrupt:
            logging.getLogger("distributed").setLevel(logging.CRITICAL)
            raise

    def __del__(self) -> None:
        pass
