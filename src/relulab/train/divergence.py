"""When the weights of a network become NaN or infinite during training."""

import math
from collections.abc import Sequence

import numpy as np
import torch
import xarray as xr
from torch import Tensor, nn

from relulab.core.alerts import Diverged, alert

NAME = "diverged_at"
EARLY = 200  # number of first steps after each of which one weight per lane is looked at
MOST = 25  # largest number of steps between two looks later
COST = 6e6  # multiply-adds of training per look, which takes 2 µs: about 0.3% of the time
ALL = 100  # smallest number of steps between two checks of all weights


class Divergence:
    """Records for each lane the step at which its weights were first found to be NaN or infinite.

    One weight of each lane is looked at: the last one, which becomes NaN with the outputs. This is done after each of
    the first 200 steps, in which most divergence happens, and then every few steps, at most 25. All weights are checked
    at the ends of epochs and of the training. Steps are counted over all epochs.

    Args:
        net: The network, with an attribute ``lanes`` or without.
        batch: Number of points per training step.
        seeds: The seed of every lane.
        steps: Number of training steps per epoch.
    """

    def __init__(self, net: nn.Module, batch: int, seeds: Sequence[int], steps: int):
        self.laned, self.lanes = hasattr(net, "lanes"), int(getattr(net, "lanes", 1))
        self.weights = [p.data for p in net.parameters() if p.requires_grad and p.numel()] or [torch.zeros(self.lanes)]
        self.seeds, self.steps, self.checked = seeds, steps, 0
        self.at = np.full(self.lanes, -1)
        last, size = self.weights[-1], sum(p.numel() for p in self.weights)
        self.last = last[(slice(None), *[0] * (last.dim() - 1))] if self.laned else last[(0,) * last.dim()]
        on_cpu = last.device.type == "cpu"  # elsewhere, reading a number would wait for the device
        self.every, self.later = (1 if on_cpu else steps + 1), min(MOST, max(1, round(COST / (size * batch))))
        self.looks = 0
        self._well: Tensor | None = None  # the lanes that have not diverged, once one has
        self._told = False

    def glance(self, step: int) -> None:
        """Look at one weight of every lane after a step.

        Args:
            step: Number of finished steps.
        """
        self.looks += 1
        if self.looks >= EARLY:
            self.every = self.later
        last = self.last if self._well is None else self.last[self._well]
        if not math.isfinite(last.sum().item()):
            self.check(step)

    def check(self, step: int) -> None:
        """Check all weights after a step.

        Args:
            step: Number of finished steps.
        """
        self.checked = step
        # A sum is much faster than ``isfinite``. It may overflow, so it is only a first look.
        if all(math.isfinite(p.sum().item()) for p in self.weights):
            return
        by_lane = [p.reshape(self.lanes, -1) for p in self.weights]
        finite = torch.stack([p.isfinite().all(1) for p in by_lane]).all(0).cpu().numpy()
        self.at[~finite & (self.at < 0)] = step
        if self.laned:
            self._well = torch.from_numpy((self.at < 0).nonzero()[0])
        if (self.at >= 0).all():
            self.tell()

    def after_epoch(self, step: int) -> None:
        """Check all weights after an epoch, unless they were checked a few steps before.

        Args:
            step: Number of finished steps.
        """
        if step - self.checked >= ALL:
            self.check(step)

    def tell(self) -> None:
        """Warn the user, once, if weights have become NaN or infinite."""
        lost = (self.at >= 0).nonzero()[0]
        if self._told or not len(lost):
            return
        self._told = True
        first = lost[self.at[lost].argmin()]
        step = int(self.at[first])
        which = f" in lane {first} (seed {self.seeds[first]})" if self.laned else ""
        who = f"{len(lost)} of {self.lanes} networks" if self.laned else "the network"
        when = f"found{which} after step {step}, in epoch {max(step - 1, 0) // self.steps}" if step else "at the start"
        alert(
            f"{who} diverged: weights became NaN or infinite, first {when}; lower the learning rate, or set clip in "
            f"fit; {NAME} in the result has the step of every network",
            Diverged,
        )

    def recorded(self, course: xr.Dataset) -> xr.Dataset:
        """Return the recorded values with the step of every lane, or −1 for lanes that did not diverge.

        Args:
            course: The recorded values of probes and meters.
        """
        if NAME in course:  # the name of a user's probe
            return course
        # A probe may use the name of the dimension for something else.
        dim = "lane" if course.sizes.get("lane", self.lanes) == self.lanes else "network"
        dims, values = ((dim,), self.at.copy()) if self.laned else ((), self.at[0].copy())
        # fastpath: for other arrays, xarray imports dask, which takes as long as 10,000 steps
        return course.assign({NAME: xr.Variable(dims, np.asarray(values), fastpath=True)})

    def state(self) -> dict[str, Tensor]:
        return {"at": torch.from_numpy(self.at), "counts": torch.tensor([self.checked, self.looks, self.every])}

    def restore(self, state: dict[str, Tensor]) -> None:
        self.at = state["at"].numpy().copy()
        self.checked, self.looks, self.every = state["counts"].tolist()
        if self.laned and (self.at >= 0).any():
            self._well = torch.from_numpy((self.at < 0).nonzero()[0])
