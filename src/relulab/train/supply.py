"""Batches for training steps: targets for the loss, label noise, augmentation, and the device."""

import math
from collections.abc import Callable, Iterator
from dataclasses import replace

import torch
from torch import Tensor, nn
from torch.nn.functional import one_hot

from relulab.core.errors import UserError
from relulab.core.seeds import Role, stream
from relulab.data.label_noise import LabelNoise
from relulab.data.labeled_task import LabeledTask
from relulab.data.task import Points, TrainingTask
from relulab.train.by_autograd import AnyLoss
from relulab.train.feed import feed
from relulab.train.losses import MSE, CrossEntropy, Logistic, Loss

Augment = Callable[[Tensor, torch.Generator], Tensor]
"""function that returns an augmented batch of one network, given a batch and a random generator on the CPU"""


def default_loss(task: TrainingTask) -> Loss:
    """Return the logistic loss for a ``LabeledTask``, cross-entropy for classes, and squared error for real numbers."""
    if isinstance(task, LabeledTask):
        return Logistic()
    return CrossEntropy() if getattr(task, "classes", None) else MSE()


class Supply:
    """Batches of ``task``, of shape (lane, batch, …) for a network with lanes, and (batch, …) without."""

    def __init__(
        self, task: TrainingTask, loss: AnyLoss, *, steps: int, batch: int, laned: bool, device: torch.device,
        noise: LabelNoise | None = None, augment: Augment | None = None,
    ):  # fmt: skip
        self.task, self.loss, self.steps, self.batch, self.laned, self.device = task, loss, steps, batch, laned, device
        self.noise, self.augment = noise or LabelNoise(), augment
        self.generators = [torch.Generator() for _ in task.seeds] if augment else []
        self._of: tuple[Points, int] | None = None
        self._points: Points | None = None

    def points(self, epoch: int) -> Points:
        """Return the points of an epoch with targets for the loss; they are cached while they do not change."""
        original = self.task.train(epoch)
        noise_epoch = (
            epoch if self.noise.amount and (self.noise.each_epoch or getattr(self.task, "fresh", False)) else 0
        )
        if self._points is None or self._of is None or self._of[0] is not original or self._of[1] != noise_epoch:
            self._of = original, noise_epoch
            points = replace(original, Y=self._targets(original.Y, noise_epoch))
            self._points = replace(points, X=points.X.to(self.device), Y=points.Y.to(self.device))
        return self._points

    def _targets(self, Y: Tensor, epoch: int) -> Tensor:
        seeds, root = self.task.seeds, self.task.root
        classes = 0 if Y.is_floating_point() else getattr(self.task, "classes", None) or int(Y.max()) + 1
        labels = Y
        if self.noise.amount:
            if isinstance(self.task, LabeledTask) or (isinstance(self.loss, Logistic) and _signs(Y)):
                wrong = self.noise.on_classes((Y.flatten(1) > 0).long(), 2, seeds, root, epoch)
                labels = (2 * wrong - 1).to(Y.dtype).view_as(Y)
            elif not classes and isinstance(self.loss, CrossEntropy) and not self.loss.soft:
                wrong = self.noise.on_classes(Y.argmax(-1), Y.shape[-1], seeds, root, epoch)
                labels = one_hot(wrong, Y.shape[-1]).to(Y.dtype)
            elif classes:
                labels = self.noise.on_classes(Y, classes, seeds, root, epoch)
            else:
                labels = self.noise.on_numbers(Y, seeds, root, epoch)
        if not isinstance(self.loss, Loss):
            return labels
        return self.loss.targets(self._scores(labels, classes))

    def _scores(self, labels: Tensor, classes: int) -> Tensor:
        """Convert labels to targets of shape (lane, N, C): classes to one-hot vectors, numbers to a column."""
        if not classes:
            return labels[..., None] if labels.dim() == 2 else labels
        if isinstance(self.loss, Logistic) or (isinstance(self.loss, CrossEntropy) and self.loss.soft):
            raise UserError(
                f"expected real numbers as targets for {type(self.loss).__name__}, got integer labels: use "
                "CrossEntropy() for classes, or convert labels ±1 (Logistic) or scores (soft) to float"
            )
        dtype = getattr(self.task, "dtype", torch.float32)
        return one_hot(labels.long(), classes).to(dtype if dtype.is_floating_point else torch.float32)

    def begin(self, epoch: int) -> None:
        """Reset the random generators of augmentation for an epoch."""
        for generator, seed in zip(self.generators, self.task.seeds, strict=bool(self.generators)):
            generator.manual_seed(_number(self.task.root, Role.AUGMENTATION, seed, epoch))

    def feed(self, epoch: int, skip: int = 0) -> Iterator[tuple[Tensor, Tensor]]:
        """Yield inputs and targets of every step of an epoch, except for the first ``skip`` steps."""
        points, batches = self.points(epoch), self.task.batches(epoch, self.steps, self.batch)
        for part in [batches] if isinstance(batches, Tensor) else batches:
            remaining = part[:, skip:]
            skip = max(0, skip - part.shape[1])
            if remaining.numel():
                for x, y in feed(points, remaining):
                    yield self._augmented(x, y) if self.augment else (x, y) if self.laned else (x[0], y[0])

    def _augmented(self, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        assert self.augment is not None
        if not self.laned:
            return self.augment(x[0], self.generators[0]), y[0]
        return torch.stack([self.augment(*lane) for lane in zip(x, self.generators, strict=True)]), y

    def state(self) -> dict[str, Tensor]:
        return {str(i): generator.get_state() for i, generator in enumerate(self.generators)}

    def restore(self, state: dict[str, Tensor]) -> None:
        for i, generator in enumerate(self.generators):
            generator.set_state(state[str(i)])


def seed_random_layers(task: TrainingTask, epoch: int, device: torch.device) -> None:
    """Reset PyTorch's global generator, which Dropout and similar layers use, for an epoch."""
    number = _number(task.root, Role.RANDOM_LAYERS, task.seeds[0], epoch)
    # torch.manual_seed takes a millisecond, because it records a traceback for every device that is not available.
    torch.default_generator.manual_seed(number) if device.type == "cpu" else torch.manual_seed(number)


def largest_product(net: nn.Module, supply: Supply) -> float:
    """Return about how many multiply-adds the largest product of a training step has.

    Args:
        net: The network.
        supply: The batches.
    """
    sizes = [(p.numel(), p.dim() > 3) for p in net.parameters() if p.dim() > 1]
    # A convolution is evaluated at up to every position of an image.
    places = math.prod(supply.task.train(0).X.shape[3:]) if any(image for _, image in sizes) else 1
    return float(supply.batch * max((size * (places if image else 1) for size, image in sizes), default=1))


def _signs(Y: Tensor) -> bool:
    """Whether the targets are labels ±1, one per point."""
    return Y.is_floating_point() and Y[0, 0].numel() == 1 and bool((Y.abs() == 1).all())


def _number(root: int, role: Role, *index: int) -> int:
    return int(stream(root, role, *index).integers(2**63))
