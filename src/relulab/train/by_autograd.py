"""Steps by autograd: for networks with lanes that are no plain MLP, and for any module without lanes."""

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from relulab.core.errors import UserError
from relulab.train.lane_updates import LaneUpdate, clip_by_lane_, over
from relulab.train.losses import Loss
from relulab.train.optimizers import SGD, Optimizer, rates

Output = Any
"""what a network puts out: a tensor, or a tuple or list of them, one an exit"""
TheirLoss = Callable[[Output, Tensor], Tensor]
AnyLoss = Loss | TheirLoss
Seen = Callable[[Output, Tensor], None]


class LanesByAutograd:
    """The step of ``optimizer`` on a network whose parameters all have a leading lane axis.

    A user's loss is given the outputs of all lanes if it answers with one value a lane, else those of one lane at a
    time, as if the lane was trained alone.
    """

    def __init__(
        self, net: Any, loss: AnyLoss, optimizer: Optimizer, clip: float | None = None, seen: Seen | None = None
    ):
        self.net, self.clip, self.seen, self.lanes = net, clip, seen, net.lanes
        self.ours, self.theirs = told_apart(loss)
        self.parameters, self.base, self.factor = trained(net), rates(optimizer, net.lanes), 1.0
        wrong = [tuple(p.shape) for p in self.parameters if not p.dim() or len(p) != net.lanes]
        if wrong:
            raise UserError(
                f"a parameter of shape {wrong[0]} in a network of {net.lanes} lanes: every parameter has a leading "
                "axis of lanes; a network without lanes has no attribute named lanes"
            )
        plain = isinstance(optimizer, SGD) and not (optimizer.momentum or optimizer.weight_decay or clip is not None)
        self.at_once = plain and self.ours is not None
        self.update = LaneUpdate(optimizer, self.parameters, net.lanes)
        self.whole: bool | None = None

    def scale(self, factor: float) -> None:
        """Multiplies the optimizer's own rate from now on."""
        self.factor = factor
        self.update.scale(factor)

    def __call__(self, x: Tensor, y: Tensor) -> None:
        f = self.net(x)
        if self.seen:
            self.seen(detached(f), y)
        if self.at_once and self.ours:
            # The step is linear in the gradient at the output: −η/B multiplies it there, and nothing is left to do.
            rate = torch.as_tensor(self.base, dtype=torch.float64).expand(self.lanes) * self.factor
            scale = (-rate / x.shape[1]).to(x.device, f.dtype)
            gradients = self._pulled(f, residual(self.ours, f, y) * over(scale, f))
            for p, gradient in zip(self.parameters, gradients, strict=True):
                if gradient is not None:
                    p.data.add_(gradient)
            return
        if self.ours:
            gradients = self._pulled(f, residual(self.ours, f, y) / x.shape[1])
        else:
            gradients = self._pulled(self._values(f, y).sum())
        if self.clip is not None:
            clip_by_lane_(gradients, self.clip)
        self.update(gradients)

    def _pulled(self, f: Tensor, g: Tensor | None = None) -> Sequence[Tensor | None]:
        return torch.autograd.grad(f, self.parameters, g, allow_unused=True)

    def _values(self, f: Output, y: Tensor) -> Tensor:
        """The loss of every lane."""
        if self.whole is not False:
            try:
                values = self.theirs(f, y)
                self.whole = isinstance(values, Tensor) and values.shape == (self.lanes,)
                if self.whole:
                    return values
            except (RuntimeError, ValueError, IndexError, TypeError):
                if self.whole:
                    raise
                self.whole = False
        return torch.stack([one_value(self.theirs(_lane(f, i), y[i])) for i in range(self.lanes)])

    def state(self) -> dict[str, Tensor]:
        return self.update.state()

    def restore(self, state: dict[str, Tensor]) -> None:
        self.update.restore(state)


class ModuleByAutograd:
    """The step of ``torch.optim`` on a module without lanes: what a user would write."""

    def __init__(
        self, net: nn.Module, loss: AnyLoss, optimizer: Optimizer, clip: float | None = None, seen: Seen | None = None
    ):
        self.net, self.clip, self.seen = net, clip, seen
        self.ours, self.theirs = told_apart(loss)
        self.parameters = trained(net)
        self.optimizer = optimizer.of_torch(self.parameters)
        self.base = self.optimizer.param_groups[0]["lr"]

    def scale(self, factor: float) -> None:
        """Multiplies the optimizer's own rate from now on."""
        self.optimizer.param_groups[0]["lr"] = self.base * factor

    def __call__(self, x: Tensor, y: Tensor) -> None:
        f = self.net(x)
        if self.seen:
            self.seen(detached(f), y)
        self.optimizer.zero_grad()
        if self.ours:
            g = residual(self.ours, f, y).div_(len(x))
            f.backward(g)
        else:
            one_value(self.theirs(f, y)).backward()
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
            # In the layout of the parameter, as PyTorch itself makes them.
            self.optimizer.state[p][name] = torch.empty_like(p).copy_(value) if value.shape == p.shape else value


def told_apart(loss: AnyLoss) -> tuple[Loss | None, TheirLoss]:
    """A loss as one of ours, or as a user's. Once for all steps: to look for a protocol's methods takes a while."""
    if isinstance(loss, Loss):
        return loss, loss.value
    return None, loss


def trained(net: nn.Module) -> list[nn.Parameter]:
    """The parameters that training moves."""
    found = [p for p in net.parameters() if p.requires_grad]
    if not found:
        raise UserError(f"{type(net).__name__} has no parameter that requires a gradient: there is nothing to train")
    return found


def residual(loss: Loss, f: Output, y: Tensor) -> Tensor:
    """∂ℓ/∂f for a loss of ours."""
    if not isinstance(f, Tensor):
        raise UserError(
            f"the network puts out a {type(f).__name__} of {len(f)}, {type(loss).__name__} takes one tensor: give a "
            "loss of your own, loss(outputs, target), that says what several exits are worth"
        )
    if f.shape != y.shape:
        raise UserError(f"the network puts out shape {tuple(f.shape)} for targets of shape {tuple(y.shape)}")
    g = f.detach().clone()
    loss.residual_(g, y)
    return g


def one_value(value: Any) -> Tensor:
    """The loss of a batch, refused when it is not one number."""
    if not isinstance(value, Tensor) or value.numel() != 1:
        given = f"shape {tuple(value.shape)}" if isinstance(value, Tensor) else type(value).__name__
        raise UserError(f"the loss gave {given}: one number is needed for a batch, such as a mean over its points")
    return value if not value.dim() else value.reshape(())


def detached(f: Output) -> Output:
    return f.detach() if isinstance(f, Tensor) else type(f)(part.detach() for part in f)


def _lane(f: Output, i: int) -> Output:
    return f[i] if isinstance(f, Tensor) else type(f)(part[i] for part in f)
