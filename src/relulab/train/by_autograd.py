"""Training steps by autograd: for networks with lanes other than a plain MLP, and for any module without lanes."""

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from relulab.core.errors import UserError
from relulab.train.lane_updates import LaneUpdate, clip_by_lane_, over
from relulab.train.losses import Loss
from relulab.train.optimizers import SGD, Optimizer, rates

Output = Any
"""output of a network: a tensor, or a tuple or list of tensors, one per exit"""
LossFunction = Callable[[Output, Tensor], Tensor]
AnyLoss = Loss | LossFunction
OnBatch = Callable[[Output, Tensor], None]


class LanesByAutograd:
    """A training step of ``optimizer`` on a network whose parameters all have a leading lane axis.

    A loss function from a user is called with the outputs of all lanes if it returns one value per lane. Otherwise it
    is called for each lane separately.
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
                f"lanes, got a parameter of shape {wrong[0]}: add the axis, or remove the attribute lanes"
            )
        plain = isinstance(optimizer, SGD) and not (optimizer.momentum or optimizer.weight_decay or clip is not None)
        self.at_once = plain and self.loss is not None
        self.update = LaneUpdate(optimizer, self.parameters, net.lanes)
        self.takes_lanes: bool | None = None

    def scale(self, factor: float) -> None:
        """Multiply the learning rate of the optimizer by ``factor`` from now on."""
        self.factor = factor
        self.update.scale(factor)

    def __call__(self, x: Tensor, y: Tensor) -> None:
        f = self.net(x)
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
            clip_by_lane_(gradients, self.clip)
        self.update(gradients)

    def _pulled(self, f: Tensor, g: Tensor | None = None) -> Sequence[Tensor | None]:
        return torch.autograd.grad(f, self.parameters, g, allow_unused=True)

    def _values(self, f: Output, y: Tensor) -> Tensor:
        """Return the loss of every lane."""
        if self.takes_lanes is not False:
            try:
                values = self.loss_function(f, y)
                self.takes_lanes = isinstance(values, Tensor) and values.shape == (self.lanes,)
                if self.takes_lanes:
                    return values
            except (RuntimeError, ValueError, IndexError, TypeError):
                if self.takes_lanes:
                    raise
                self.takes_lanes = False
        return torch.stack([one_value(self.loss_function(_lane(f, i), y[i])) for i in range(self.lanes)])

    def state(self) -> dict[str, Tensor]:
        return self.update.state()

    def restore(self, state: dict[str, Tensor]) -> None:
        self.update.restore(state)


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
        f = self.net(x)
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
    return parameters


def residual(loss: Loss, f: Output, y: Tensor) -> Tensor:
    """Return ∂ℓ/∂f for a ``Loss``."""
    if not isinstance(f, Tensor):
        raise UserError(
            f"expected one tensor as the output of the network, got a {type(f).__name__} of length {len(f)}: pass a "
            "function loss(outputs, targets) that combines several outputs"
        )
    if f.shape != y.shape:
        raise UserError(
            f"expected outputs of shape {tuple(y.shape)}, the shape of the targets, got {tuple(f.shape)}: change the "
            "network or the targets"
        )
    g = f.detach().clone()
    loss.residual_(g, y)
    return g


def one_value(value: Any) -> Tensor:
    """Return the loss of a batch as a scalar tensor after checking that it is one number."""
    if not isinstance(value, Tensor) or value.numel() != 1:
        given = f"shape {tuple(value.shape)}" if isinstance(value, Tensor) else type(value).__name__
        raise UserError(f"expected a tensor with one number from the loss, got {given}: return the mean over the batch")
    return value if not value.dim() else value.reshape(())


def detached(f: Output) -> Output:
    """Return the outputs without their computation graph."""
    return f.detach() if isinstance(f, Tensor) else type(f)(part.detach() for part in f)


def _lane(f: Output, i: int) -> Output:
    return f[i] if isinstance(f, Tensor) else type(f)(part[i] for part in f)
