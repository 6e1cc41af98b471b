"""Training steps by autograd: for networks with lanes other than a plain MLP, and for any module without lanes."""

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from relulab.core.errors import UserError
from relulab.train.hooked import hooked, refuse_stored_gradient_hooks
from relulab.train.lane_updates import LaneUpdate, clipped_by_lane, over
from relulab.train.losses import Loss
from relulab.train.optimizers import SGD, Optimizer, rates
from relulab.train.outputs import Output, detached, of_lane, one_value, outputs_of, residual

LossFunction = Callable[[Output, Tensor], Tensor]
AnyLoss = Loss | LossFunction
OnBatch = Callable[[Output, Tensor], None]
FAILURES = (RuntimeError, ValueError, IndexError, TypeError)
"""what a loss raises if it is called with outputs of another shape than it is written for"""


class LanesByAutograd:
    """A training step of ``optimizer`` on a network whose parameters all have a leading lane axis.

    A loss function from a user is called for each lane separately, as for a network alone. Only if this fails, or if it
    has an attribute ``takes_lanes = True``, it is called with the outputs of all lanes and must return one value per
    lane. The shape of what it returns for all lanes does not show this, since a batch may have as many points as there
    are lanes.
    """

    def __init__(
        self, net: Any, loss: AnyLoss, optimizer: Optimizer, clip: float | None = None, on_batch: OnBatch | None = None
    ):
        self.net, self.clip, self.on_batch, self.lanes = net, clip, on_batch, net.lanes
        self.loss, self.loss_function = split_loss(loss)
        self.parameters, self.base, self.factor = trained(net), rates(optimizer, net.lanes), 1.0
        wrong = [tuple(p.shape) for p in self.parameters if not p.dim() or len(p) != net.lanes]
        if wrong:
            raise UserError(
                f"expected a leading axis of length {net.lanes} in every parameter of a network with {net.lanes} "
                f"lanes, got a parameter of shape {wrong[0]}: add the axis, or remove the ``lanes`` attribute"
            )
        refuse_stored_gradient_hooks(net)
        plain = isinstance(optimizer, SGD) and not (optimizer.momentum or optimizer.weight_decay or clip is not None)
        # A hook may be any function of the gradient, so it must get the gradient itself.
        self.at_once = plain and self.loss is not None and not hooked(net)
        self.update = LaneUpdate(optimizer, self.parameters, net.lanes)
        self.takes_lanes: bool | None = getattr(self.loss_function, "takes_lanes", None)

    def scale(self, factor: float) -> None:
        """Multiply the learning rate of the optimizer by ``factor`` from now on."""
        self.factor = factor
        self.update.scale(factor)

    def __call__(self, x: Tensor, y: Tensor) -> None:
        f = outputs_of(self.net, x)
        if self.on_batch:
            self.on_batch(detached(f), y)
        if self.at_once and self.loss:
            # The step is linear in the gradient at the output, so it is multiplied by −η/B there.
            rate = torch.as_tensor(self.base, dtype=torch.float64).expand(self.lanes) * self.factor
            scale = (-rate / x.shape[1]).to(x.device, f.dtype)
            gradients = self._pulled(f, residual(self.loss, f, y) * over(scale, f))
            for p, gradient in zip(self.parameters, gradients, strict=True):
                if gradient is not None:
                    p.data.add_(gradient)
            return
        if self.loss:
            gradients = self._pulled(f, residual(self.loss, f, y) / x.shape[1])
        else:
            gradients = self._pulled(self._values(f, y).sum())
        if self.clip is not None:
            gradients = clipped_by_lane(gradients, self.clip)
        self.update(gradients)

    def _pulled(self, f: Tensor, g: Tensor | None = None) -> Sequence[Tensor | None]:
        return torch.autograd.grad(f, self.parameters, g, allow_unused=True)

    def _values(self, f: Output, y: Tensor) -> Tensor:
        """Return the loss of every lane."""
        if self.takes_lanes is not None:
            return self._together(f, y) if self.takes_lanes else self._separately(f, y)
        try:
            values, self.takes_lanes = self._separately(f, y), False
        except FAILURES as failure:
            try:
                values, self.takes_lanes = self._together(f, y), True
            except FAILURES:
                raise failure from None
        return values

    def _separately(self, f: Output, y: Tensor) -> Tensor:
        return torch.stack([one_value(self.loss_function(of_lane(f, i), y[i])) for i in range(self.lanes)])

    def _together(self, f: Output, y: Tensor) -> Tensor:
        values = self.loss_function(f, y)
        if not isinstance(values, Tensor) or values.shape != (self.lanes,):
            given = f"shape {tuple(values.shape)}" if isinstance(values, Tensor) else type(values).__name__
            raise UserError(
                f"expected a tensor with one number per lane, ({self.lanes},), from a loss that takes all lanes, got "
                f"{given}: return the mean over the batch of every lane, or remove the attribute takes_lanes"
            )
        return values

    def state(self) -> dict[str, Tensor]:
        # How the loss is called is part of the state, since finding it out calls the loss, which may be random.
        known = {} if self.takes_lanes is None else {"takes_lanes": torch.tensor(self.takes_lanes)}
        return {**self.update.state(), **known}

    def restore(self, state: dict[str, Tensor]) -> None:
        self.update.restore(state)
        self.takes_lanes = bool(state["takes_lanes"]) if "takes_lanes" in state else self.takes_lanes


class ModuleByAutograd:
    """A training step of ``torch.optim`` on a module without lanes."""

    def __init__(
        self,
        net: nn.Module,
        loss: AnyLoss,
        optimizer: Optimizer,
        clip: float | None = None,
        on_batch: OnBatch | None = None,
    ):
        self.net, self.clip, self.on_batch = net, clip, on_batch
        self.loss, self.loss_function = split_loss(loss)
        self.parameters = trained(net)
        self.optimizer = optimizer.of_torch(self.parameters)
        self.base = self.optimizer.param_groups[0]["lr"]

    def scale(self, factor: float) -> None:
        """Multiply the learning rate of the optimizer by ``factor`` from now on."""
        self.optimizer.param_groups[0]["lr"] = self.base * factor

    def __call__(self, x: Tensor, y: Tensor) -> None:
        f = outputs_of(self.net, x)
        if self.on_batch:
            self.on_batch(detached(f), y)
        self.optimizer.zero_grad()
        if self.loss:
            g = residual(self.loss, f, y).div_(len(x))
            f.backward(g)
        else:
            one_value(self.loss_function(f, y)).backward()
        if self.clip is not None:
            nn.utils.clip_grad_norm_(self.parameters, self.clip)
        self.optimizer.step()

    def state(self) -> dict[str, Tensor]:
        return {
            f"{i}.{name}": value
            for i, p in enumerate(self.parameters)
            for name, value in self.optimizer.state[p].items()
            if isinstance(value, Tensor)
        }

    def restore(self, state: dict[str, Tensor]) -> None:
        for key, value in state.items():
            i, _, name = key.partition(".")
            p = self.parameters[int(i)]
            # In the memory format of the parameter, as in PyTorch.
            self.optimizer.state[p][name] = torch.empty_like(p).copy_(value) if value.shape == p.shape else value


def split_loss(loss: AnyLoss) -> tuple[Loss | None, LossFunction]:
    """Return the loss as a ``Loss``, or None if it is a plain function, and as a function of outputs and targets.

    This is done once before training, because ``isinstance`` is slow for protocols.
    """
    if isinstance(loss, Loss):
        return loss, loss.value
    return None, loss


def trained(net: nn.Module) -> list[nn.Parameter]:
    """Return the parameters that are trained."""
    parameters = [p for p in net.parameters() if p.requires_grad]
    if not parameters:
        raise UserError(
            f"expected a network with parameters to train, but no parameter of {type(net).__name__} requires a "
            "gradient: set requires_grad=True"
        )
    if any(p.is_inference() for p in parameters):
        raise UserError(
            f"expected parameters that can have gradients, got a {type(net).__name__} created in "
            "torch.inference_mode(): create it outside"
        )
    return parameters
