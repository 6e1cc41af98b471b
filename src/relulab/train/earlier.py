"""What an earlier call of ``fit`` left behind, so that a later one can continue the training of a network."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary, ref

from torch import Tensor, nn

from relulab.core.alerts import SameBatches, alert
from relulab.core.errors import UserError
from relulab.train.optimizers import Optimizer


@dataclass(frozen=True)
class Earlier:
    """The end of a training: the next epoch, the optimizer with its state, and what the network was trained on."""

    epoch: int
    optimizer: Optimizer
    state: Mapping[str, Tensor]
    data: Any  # a weak reference, so that the data can be deleted
    weights: tuple[float, ...]  # the sum of every parameter, to notice changes
    shapes: tuple[tuple[int, ...], ...]


_EARLIER: WeakKeyDictionary[nn.Module, Earlier] = WeakKeyDictionary()


def earlier(net: nn.Module, resume: bool, first_epoch: int) -> Earlier | None:
    """Return the training that a call of ``fit`` continues, or None.

    Args:
        net: The network.
        resume: Whether to continue the last training of the network.
        first_epoch: Number of the first epoch, as given by the user.
    """
    if not resume:
        return None
    found = _found(net)
    if found is None or found.shapes != _shapes(net):
        raise UserError(
            "expected a network that fit or sgd has trained before in this process for resume=True, got one without an "
            "earlier training, or with new parameters: leave out resume, or pass first_epoch to continue with the "
            "batches of that epoch"
        )
    if first_epoch:
        raise UserError(
            f"expected either resume=True, which continues with epoch {found.epoch}, or first_epoch, got both with "
            f"first_epoch={first_epoch}: leave out one of them"
        )
    return found


def tell_repeated_batches(net: nn.Module, task: Any, first_epoch: int) -> None:
    """Warn if a network is trained on the same batches again, which is rarely meant.

    Args:
        net: The network.
        task: The task, as given by the user.
        first_epoch: Number of the first epoch.
    """
    found = _found(net)
    if found and first_epoch < found.epoch and found.data() is _data(task) and found.weights == _sums(net):
        alert(
            f"this network was already trained on this task, up to epoch {found.epoch - 1}, and is now trained on the "
            f"batches of epoch {first_epoch} again: pass resume=True to continue with epoch {found.epoch}, or train a "
            "new network",
            SameBatches,
        )


def continued_state(found: Earlier, optimizer: Optimizer, start: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Return the state with which an optimizer continues; raise a UserError if it needs another kind of state.

    Args:
        found: The earlier training.
        optimizer: The optimizer of the new call.
        start: Its state before its first step; that of an optimizer of PyTorch is empty.
    """
    start = {name: tensor for name, tensor in start.items() if name != "takes_lanes"}  # it belongs to the loss
    state = _translated({name: tensor for name, tensor in found.state.items() if name != "takes_lanes"}, start)
    old, new = ({name: tuple(t.shape) for name, t in tensors.items()} for tensors in (state, start))
    if _kind(found.optimizer) != _kind(optimizer) or not new.items() <= old.items():
        raise UserError(
            f"expected an optimizer like that of the earlier training, {found.optimizer}, for resume=True, got "
            f"{optimizer}: keep its kind, SGD or Adam, with momentum or without, or leave out resume"
        )
    return state


def _translated(state: dict[str, Tensor], start: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Translate velocities of SGD between the two forms that lanes have: u = grown · v without autograd, v with it."""
    if "grown" in state and "steps" in start:
        velocities = {f"v.{name[2:]}": u / state["grown"] for name, u in state.items() if name != "grown"}
        return {**velocities, "steps": start["steps"]}
    if "steps" in state and "grown" in start:
        velocities = {f"u.{name[2:]}": v for name, v in state.items() if name.startswith("v.")}
        return {**velocities, "grown": start["grown"]}
    return state


def keep(net: nn.Module, task: Any, epoch: int, optimizer: Optimizer, state: Mapping[str, Tensor]) -> None:
    """Keep the end of a training for a later call.

    Args:
        net: The network.
        task: The task, as given by the user.
        epoch: Number of the next epoch.
        optimizer: The optimizer.
        state: The state of the optimizer.
    """
    if _kept(net):
        data = _data(task)
        try:
            reference = ref(data)
        except TypeError:
            reference = lambda: None  # noqa: E731
        _EARLIER[net] = Earlier(epoch, optimizer, state, reference, _sums(net), _shapes(net))


def forget(net: nn.Module) -> None:
    """Forget the earlier training of a network, because a new one has begun and may be interrupted.

    Args:
        net: The network.
    """
    if _kept(net):
        _EARLIER.pop(net, None)


def _found(net: nn.Module) -> Earlier | None:
    return _EARLIER.get(net) if _kept(net) else None


def _kept(net: nn.Module) -> bool:
    """Whether a network can be a key: a class with its own ``__eq__`` may have no hash."""
    return type(net).__hash__ is not None


def _data(task: Any) -> Any:
    """The object that identifies the data: the task, or the inputs of a pair."""
    return task[0] if isinstance(task, tuple | list) else task


def _kind(optimizer: Optimizer) -> tuple[type, bool]:
    return type(optimizer), bool(getattr(optimizer, "momentum", 0))


def _sums(net: nn.Module) -> tuple[float, ...]:
    return tuple(p.data.sum().item() for p in net.parameters())


def _shapes(net: nn.Module) -> tuple[tuple[int, ...], ...]:
    return tuple(tuple(p.shape) for p in net.parameters())
