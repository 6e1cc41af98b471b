"""Measurements of two-layer students during training: correlations, loss and fan-out on held-out points."""

from dataclasses import dataclass

import torch
from jaxtyping import Float
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

CHUNK = 5000  # points per pass: enough for full speed with little memory


@dataclass(frozen=True)
class Observation:
    """Measurements of every lane, for the lowest layer: correlations with teacher nodes, loss, and fan-out norms."""

    rho: Float[Tensor, "lane m n"]
    loss: Float[Tensor, " lane"]
    fan_out: Float[Tensor, "lane n"]

    def __repr__(self) -> str:
        lanes, m, n = self.rho.shape
        sizes = f"{counted(lanes, 'lane')}, {counted(m, 'teacher node')}, {counted(n, 'student node')}"
        best, loss = float(self.rho.amax(-1).mean()), float(self.loss.mean())
        return f"Observation({sizes}: mean best correlation {best:.4g}, mean loss {loss:.4g})"


class Observer:
    """Measure students on held-out points. The activations of the teachers are computed once.

    The correlations are those of ``relulab.specialization.correlation`` for the lowest layer, in one pass over the
    points.

    Args:
        teacher: The teachers, one per lane.
        points: Held-out points with the outputs of the teachers, as returned by ``Task.held_out``.
        loss: The loss to report. None takes ``MSE``.
    """

    def __init__(self, teacher: MLP, points: Points, loss: Loss | None = None):
        self.points, self.loss = points, loss or MSE()
        self.targets = self.loss.targets(points.Y)
        with torch.no_grad(), threads_for(points.X.shape[1] * teacher.W[0][0].numel()):
            self.f_star = [
                normalized(layers_of(teacher.lane(i).double(), points.of_lane(i)[0].double())[0][0]).to(points.X.dtype)
                for i in range(teacher.lanes)
            ]

    def __repr__(self) -> str:
        points = counted(self.points.X.shape[1], "point")
        return f"Observer({counted(len(self.f_star), 'lane')}, {points}, {type(self.loss).__name__})"

    @torch.no_grad()
    def __call__(self, student: MLP) -> Observation:
        """Measure students.

        Args:
            student: The students, one per lane.
        """
        if student.lanes != len(self.f_star):
            raise UserError(f"the student has {student.lanes} lanes, but the observer expected {len(self.f_star)}")
        with threads_for(CHUNK * max(W[0].numel() for W in student.W)):
            rho, loss = zip(*(self._measure(student.lane(i), i) for i in range(student.lanes)), strict=True)
        return Observation(torch.stack(rho), torch.stack(loss), student.W[1].data.norm(dim=-1))

    def _measure(self, net: MLP, i: int) -> tuple[Float[Tensor, "m n"], Float[Tensor, ""]]:
        x = self.points.X[self.points.group[i]]
        correlation, loss = StreamedCorrelation(), x.new_zeros(())
        for x_, y_, f_star in zip(*(a.split(CHUNK) for a in (x, self.targets[i], self.f_star[i])), strict=True):
            layers = layers_of(net, x_)
            loss = loss + self.loss.value(layers[-1][0], y_) * (len(x_) / len(x))
            correlation.add(f_star, layers[0][0])
        return correlation.value(), loss
