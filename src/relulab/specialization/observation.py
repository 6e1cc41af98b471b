"""What a study of two-layer students looks at while they train: correlations, loss and fan-out on held-out points."""

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from relulab.data.task import Points
from relulab.nets.mlp import MLP
from relulab.specialization.correlation import correlation, normalised
from relulab.train.losses import MSE, Loss


@dataclass(frozen=True)
class Observation:
    """Of every lane: correlation with the lowest layer's teacher nodes, loss, and fan-out of the lowest layer."""

    rho: Float[Tensor, "lane m n"]
    loss: Float[Tensor, " lane"]
    fan_out: Float[Tensor, "lane n"]


class Observer:
    """Holds the teacher's side, computed once, and looks at students one lane at a time to keep memory small."""

    def __init__(self, teacher: MLP, points: Points, loss: Loss | None = None):
        self.points, self.loss = points, loss or MSE()
        self.f_star = [
            normalised(teacher.lane(i).layers(points.of_lane(i)[0].double())[0][0]).to(points.X.dtype)
            for i in range(teacher.lanes)
        ]

    @torch.no_grad()
    def __call__(self, student: MLP) -> Observation:
        rho, loss = [], []
        for i, f_star in enumerate(self.f_star):
            x, f_L = self.points.of_lane(i)
            f = student.lane(i).layers(x)
            rho.append(correlation(f_star, f[0][0]))
            loss.append(self.loss.value(f[-1][0], self.loss.targets(f_L)))
        return Observation(torch.stack(rho), torch.stack(loss), student.W[1].data.norm(dim=-1))
