"""Optimizer updates for parameters with a leading lane axis: one learning rate or one per lane, clipping per lane."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from relulab.train.optimizers import SGD, Adam, Optimizer, rates


def clip_factors(gradients: Sequence[Tensor], most: float) -> Tensor:
    """Return the factors of the gradients that make the norm over all parameters at most ``most`` in every lane.

    The factor is min(1, most / (‖g‖ + 10⁻⁶)), as in ``torch.nn.utils.clip_grad_norm_``, for each lane separately.

    Args:
        gradients: Gradients with a leading lane axis.
        most: Largest norm.
    """
    norms = torch.stack([g.flatten(1).norm(dim=1) for g in gradients]).norm(dim=0)
    return (most / (norms + 1e-6)).clamp(max=1.0)


def clipped_by_lane(gradients: Sequence[Tensor | None], most: float) -> list[Tensor | None]:
    """Return the gradients with a norm over all parameters of at most ``most`` in every lane.

    The given gradients do not change, because autograd may return one tensor for two parameters.

    Args:
        gradients: Gradients with a leading lane axis, or None.
        most: Largest norm.
    """
    present = [g for g in gradients if g is not None]
    if not present:
        return list(gradients)
    factor = clip_factors(present, most)
    return [None if g is None else g * over(factor, g) for g in gradients]


def over(values: Tensor, like: Tensor) -> Tensor:
    """Reshape one value per lane so that it broadcasts with a parameter."""
    return values.view(-1, *[1] * (like.dim() - 1))


class LaneUpdate:
    """The in-place update of ``parameters`` by ``optimizer``, with a state that can be saved."""

    def __init__(self, optimizer: Optimizer, parameters: Sequence[Tensor], lanes: int):
        self.optimizer, self.parameters = optimizer, list(parameters)
        self.steps = [0] * len(self.parameters)  # number of updates of each parameter
        self.base = rates(optimizer, lanes)
        names = ("m", "s") if isinstance(optimizer, Adam) else ("v",) if optimizer.momentum else ()
        self.kept = {name: [torch.zeros_like(p) for p in self.parameters] for name in names}
        self.scale(1.0)

    def scale(self, factor: float) -> None:
        """Multiply the learning rate of the optimizer by ``factor`` from now on."""
        if isinstance(self.base, float):
            self.rate: float | Tensor = self.base * factor
        else:
            p = self.parameters[0]
            self.rate = (torch.tensor(self.base, dtype=torch.float64) * factor).to(p.device, p.dtype)

    @torch.no_grad()
    def __call__(self, gradients: Sequence[Tensor | None]) -> None:
        for i, (p, g) in enumerate(zip(self.parameters, gradients, strict=True)):
            if g is None:  # the output does not depend on this parameter
                continue
            self.steps[i] += 1
            if self.optimizer.weight_decay:
                g = g.add(p, alpha=self.optimizer.weight_decay)
            self._adam(i, p, g) if isinstance(self.optimizer, Adam) else self._sgd(i, p, g)

    def _sgd(self, i: int, p: Tensor, g: Tensor) -> None:
        assert isinstance(self.optimizer, SGD)
        mu = self.optimizer.momentum
        if mu:
            v = self.kept["v"][i].mul_(mu).add_(g)
            g = g.add(v, alpha=mu) if self.optimizer.nesterov else v
        self._descend(p, g)

    def _adam(self, i: int, p: Tensor, g: Tensor) -> None:
        assert isinstance(self.optimizer, Adam)
        first, second = self.optimizer.betas
        m = self.kept["m"][i].lerp_(g, 1 - first)
        s = self.kept["s"][i].mul_(second).addcmul_(g, g, value=1 - second)
        t = self.steps[i]
        denominator = (s.sqrt() / (1 - second**t) ** 0.5).add_(self.optimizer.eps)
        if isinstance(self.rate, Tensor):
            self._descend(p, m.div(denominator).div_(1 - first**t))
        else:
            p.addcdiv_(m, denominator, value=-self.rate / (1 - first**t))

    def _descend(self, p: Tensor, along: Tensor) -> None:
        if isinstance(self.rate, Tensor):
            p.addcmul_(along, over(self.rate, p), value=-1)
        else:
            p.add_(along, alpha=-self.rate)

    def state(self) -> dict[str, Tensor]:
        """Return the state that the next step depends on, besides the parameters."""
        kept = {f"{name}.{i}": t for name, tensors in self.kept.items() for i, t in enumerate(tensors)}
        return {**kept, "steps": torch.tensor(self.steps)}

    def restore(self, state: dict[str, Any]) -> None:
        self.steps = state["steps"].tolist()
        for name, tensors in self.kept.items():
            for i, tensor in enumerate(tensors):
                tensor.copy_(state[f"{name}.{i}"])
