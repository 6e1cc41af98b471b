"""Correlations of deep students with their teachers in every hidden layer, and the loss, during training."""

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from relulab.core.errors import UserError
from relulab.core.short_repr import counted
from relulab.core.threads import threads_for
from relulab.data.task import Points
from relulab.nets.hooks import layers_of
from relulab.nets.mlp import MLP
from relulab.subjects.specialization.instruments.correlation import normalized
from relulab.subjects.specialization.tools.streamed_correlation import StreamedCorrelation
from relulab.train.losses import MSE, Loss

CHUNK = 2000  # points per pass: enough for full speed with little memory


@dataclass(frozen=True)
class LayerObservation:
    """Measurements of every lane: the loss, and for each hidden layer the correlations with the teacher's nodes."""

    rho: tuple[Float[Tensor, "lane _ _"], ...]
    loss: Float[Tensor, " lane"]

    def __repr__(self) -> str:
        layers = ", ".join(f"{rho.shape[1]} × {rho.shape[2]} nodes" for rho in self.rho)
        return f"LayerObservation({counted(len(self.loss), 'lane')}, {layers}: mean loss {float(self.loss.mean()):.4g})"


class LayerObserver:
    """Measure deep students on held-out points. The activations of the teachers are computed once.

    The correlations are those of ``relulab.specialization.correlation`` for all hidden layers, in one pass over the
    points. Teacher nodes whose activation is constant, such as nodes that are never active, have correlation 0; they
    are listed in ``alive``.

    Args:
        teacher: The teachers, one per lane.
        points: Held-out points with the outputs of the teachers, as returned by ``Task.held_out``.
        loss: The loss to report. None takes ``MSE``.

    Attributes:
        alive: For each hidden layer, which teacher nodes are not constant on these points, (lane, m).
    """

    def __init__(self, teacher: MLP, points: Points, loss: Loss | None = None):
        if teacher.depth < 2:
            raise UserError(f"expected teachers with a hidden layer, got {teacher!r}: add a width")
        self.points, self.loss = points, loss or MSE()
        self.targets, self.depth = self.loss.targets(points.Y), teacher.depth
        with torch.no_grad(), threads_for(points.X.shape[1] * max(W[0].numel() for W in teacher.W)):
            self.f_star = [self._activations(teacher.lane(i), i) for i in range(teacher.lanes)]
        self.alive: tuple[Bool[Tensor, "lane _"], ...] = tuple(
            torch.stack([lane[l].any(0) for lane in self.f_star]) for l in range(teacher.depth - 1)
        )

    def __repr__(self) -> str:
        points = counted(self.points.X.shape[1], "point")
        return f"LayerObserver({counted(len(self.f_star), 'lane')}, {points}, {type(self.loss).__name__})"

    def _activations(self, teacher: MLP, i: int) -> list[Float[Tensor, "N _"]]:
        x = self.points.of_lane(i)[0].double()
        return [normalized(f[0]).to(self.points.X.dtype) for f in layers_of(teacher.double(), x)[:-1]]

    @torch.no_grad()
    def __call__(self, student: MLP) -> LayerObservation:
        """Measure students.

        Args:
            student: The students, one per lane, with as many layers as the teachers.
        """
        if student.lanes != len(self.f_star) or student.depth != self.depth:
            raise UserError(
                f"expected students with {counted(len(self.f_star), 'lane')} and {self.depth} layers of weights, got "
                f"{student!r}: use the lanes and the depth of the teachers"
            )
        with threads_for(CHUNK * max(W[0].numel() for W in student.W)):
            rho, loss = zip(*(self._measure(student.lane(i), i) for i in range(student.lanes)), strict=True)
        return LayerObservation(tuple(torch.stack(layer) for layer in zip(*rho, strict=True)), torch.stack(loss))

    def _measure(self, net: MLP, i: int) -> tuple[list[Float[Tensor, "_ _"]], Float[Tensor, ""]]:
        x = self.points.X[self.points.group[i]]
        correlations = [StreamedCorrelation() for _ in self.f_star[i]]
        loss, parts = x.new_zeros(()), (x, self.targets[i], *self.f_star[i])
        for x_, y_, *f_star in zip(*(part.split(CHUNK) for part in parts), strict=True):
            *f, output = layers_of(net, x_)
            loss = loss + self.loss.value(output[0], y_) * (len(x_) / len(x))
            for correlation, a, b in zip(correlations, f_star, f, strict=True):
                correlation.add(a, b[0])
        return [correlation.value() for correlation in correlations], loss
