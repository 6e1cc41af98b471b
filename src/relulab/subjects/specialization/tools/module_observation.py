"""Correlations of any student network with its teacher in every hidden layer, and the loss, during training."""

import torch
from jaxtyping import Float
from torch import Tensor, nn

from relulab.core.errors import UserError
from relulab.core.short_repr import counted
from relulab.data.task import Points
from relulab.nets.hooks import activations, applied, fitted, units
from relulab.subjects.specialization.tools.layer_observation import LayerObservation
from relulab.subjects.specialization.tools.streamed_correlation import StreamedCorrelation
from relulab.train.losses import MSE, Loss

CHUNK = 100  # points per pass: enough for full speed, even with large images, with little memory


class ModuleObserver:
    """Measure a student, such as a convolutional network, against its teacher on held-out points.

    Hidden layers are the ReLUs, in order. In convolutional layers each channel is a node, and its activations at all
    positions of all images are its samples. Both networks are evaluated part by part, so that activations are never
    held for all points. ``LayerObserver`` is faster for several networks in lanes. Teacher nodes whose activation is
    constant, such as nodes that are never active, have correlation 0; they are listed in ``alive``.

    Args:
        teacher: The teacher.
        points: Held-out points of one lane with the targets, as returned by ``Task.held_out``.
        loss: The loss to report. None takes ``MSE``.

    Attributes:
        alive: For each hidden layer, which teacher nodes are not constant on these points, (1, m).
    """

    def __init__(self, teacher: nn.Module, points: Points, loss: Loss | None = None):
        if len(points.group) != 1:
            raise UserError(f"expected points of one lane, got {counted(len(points.group), 'lane')}: use one seed")
        self.teacher, self.loss = teacher, loss or MSE()
        self.X, Y = points.of_lane(0)
        self.targets = self.loss.targets(Y)
        self.mean, self.norm = zip(*self._moments(), strict=True)
        self.alive = tuple((norm > 0)[None] for norm in self.norm)

    def __repr__(self) -> str:
        points = counted(len(self.X), "point")
        return f"ModuleObserver({type(self.teacher).__name__}, {points}, {type(self.loss).__name__})"

    @torch.no_grad()
    def __call__(self, student: nn.Module) -> LayerObservation:
        """Measure a student.

        Args:
            student: A network with as many hidden layers as the teacher, and with images of the same sizes.
        """
        correlations, loss = [StreamedCorrelation() for _ in self.mean], 0.0
        for x, y in zip(self.X.split(CHUNK), self.targets.split(CHUNK), strict=True):
            (f_star, _), (f, output) = hidden_of(self.teacher, x), hidden_of(student, x)
            self._check(student, f_star, f)
            loss += float(self.loss.value(output, y)) * len(x) / len(self.X)
            for l, correlation in enumerate(correlations):
                teacher = units(f_star[l]).sub(self.mean[l]).mul_(torch.where(self.norm[l] > 0, 1 / self.norm[l], 0))
                correlation.add(teacher, units(f[l]).clone())
        return LayerObservation(tuple(c.value()[None] for c in correlations), torch.tensor([loss]))

    def _moments(self) -> list[tuple[Float[Tensor, " m"], Float[Tensor, " m"]]]:
        """Return for each layer the mean of every teacher node, and the norm without the mean, 0 for constant nodes."""
        sums: list[Tensor] = []
        with torch.no_grad():
            for x in self.X.split(CHUNK):
                parts = [units(f).double() for f in hidden_of(self.teacher, x)[0]]
                of_part = [torch.stack([torch.ones_like(f[0]) * len(f), f.sum(0), f.square().sum(0)]) for f in parts]
                sums = [a + b for a, b in zip(sums, of_part, strict=True)] if sums else of_part
        dtype, found = self.X.dtype, []
        for count, total, square in sums:
            spread = (square - total.square() / count).clamp(min=0)
            constant = spread <= (8 * torch.finfo(dtype).eps) ** 2 * square
            found.append(((total / count).to(dtype), torch.where(constant, 0, spread.sqrt()).to(dtype)))
        return found

    def _check(self, student: nn.Module, f_star: list[Tensor], f: list[Tensor]) -> None:
        if len(f_star) != len(f):
            raise UserError(
                f"expected a student with {counted(len(f_star), 'hidden layer')} like its teacher, got "
                f"{type(student).__name__} with {len(f)}: use networks of the same depth"
            )
        for l, (a, b) in enumerate(zip(f_star, f, strict=True)):
            if a.shape[2:] != b.shape[2:]:
                raise UserError(
                    f"expected images of {_size(a)} in hidden layer {l} like those of the teacher, got {_size(b)}: use "
                    "the same filters, strides and paddings"
                )


def hidden_of(net: nn.Module, x: Tensor) -> tuple[list[Tensor], Tensor]:
    """Return the activations of every hidden layer, and the outputs, in eval mode.

    Args:
        net: A network whose activations are modules, such as ``nn.ReLU``.
        x: Points, (N, …).
    """
    with activations(net) as found:
        output = applied(net, fitted(net, x))
    return list(found.values()), output


def _size(f: Tensor) -> str:
    return " × ".join(map(str, f.shape[2:])) + " pixels" if f.dim() > 2 else "one value per node"
