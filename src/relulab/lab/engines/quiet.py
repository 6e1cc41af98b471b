"""Loaded by the dask workers of a local cluster: Ctrl-C reaches the whole group, the parent decides what it means."""

import signal


def dask_setup(_worker) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
