"""Follow the mean dynamics of LM theorem 2, or the exact gradient flow that they stand for."""

from copy import deepcopy

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor, nn

from relulab.core.errors import UserError
from relulab.core.followed import followed
from relulab.core.ranges import above, at_least
from relulab.core.threads import threads_for
from relulab.flow.trajectory import Trajectory
from relulab.nets.hooks import points
from relulab.nets.mlp import MLP, as_mlp, check_points
from relulab.subjects.specialization.instruments.layer_means import check_pair
from relulab.subjects.specialization.tools.streamed_means import Network, streamed_means
from relulab.subjects.specialization.tools.weight_velocity import Velocity, exact_velocity, separated_velocity


@torch.no_grad()
def mean_dynamics(
    teacher: nn.Module,
    student: nn.Module,
    x: Float[Tensor | np.ndarray, "*lane N d"],
    *,
    time: float,
    steps: int,
    looks: int = 11,
    separated: bool = True,
) -> Trajectory[Tensor]:
    r"""Follow Ẇ_l = L*_l W*_l H*_{l+1} − L_l W_l H_{l+1} from the weights of a student (LM eq. 6).

    At every step, all expectations are computed anew, as means over the points. The steps are those of Euler's method,
    of length η = time/steps, so that with ``separated=False`` they are gradient descent on ½ E‖f* − f‖² with learning
    rate η. The error is proportional to η.

    Args:
        teacher: An ``MLP`` or a plain Linear-ReLU-…-Linear module, with one lane or as many lanes as the student.
        student: Another such network with the same inputs, outputs and depth. It is not changed.
        x: Points, (N, d) or (lane, N, d).
        time: End time, above 0.
        steps: Number of steps, at least 1.
        looks: Number of snapshots, at equal distances from the start to the end, at least 2.
        separated: Whether expectations are separated as in eq. 6; otherwise the flow is that of eq. 15.

    Returns:
        The trajectory in float64 with the states ``weights``, (t, lane, P), in the order of ``flat_weights``, and
        ``loss``, (t, lane), which is ½ E‖f* − f‖².

    >>> from relulab.nets.initial import torch_default
    >>> teacher, student = (torch_default((3, n, 2), seeds=[0]) for n in (4, 5))
    >>> path = mean_dynamics(teacher, student, torch.eye(3), time=1.0, steps=10, separated=False)
    >>> len(path), bool(path["loss"][-1] < path["loss"][0])
    (11, True)
    """
    above(0, time=time)
    at_least(1, steps=steps)
    at_least(2, looks=looks)
    star, net = (deepcopy(as_mlp(one)).double() for one in (teacher, student))
    check_pair(star, net)
    x = points(x).detach().double()
    check_points(net, x)
    if not x.numel():
        raise UserError(f"expected at least one point, got x of shape {tuple(x.shape)}: give more points")
    x = x.expand(net.lanes, *x.shape[-2:])
    at = sorted({round(i * steps / (looks - 1)) for i in range(looks)})
    weights, losses = [], []
    with threads_for(x.shape[1] * max(W[0].numel() for W in net.W)):
        for step in followed(range(steps + 1), "following the mean dynamics"):
            if step in at:
                weights.append(flat_weights(net))
                losses.append(0.5 * (net(x) - star(x)).square().sum(-1).mean(-1))
            if step < steps:
                for i in range(net.lanes):
                    _moved(net, i, velocity(star, net, i, x[i], separated), time / steps)
    times = torch.tensor(at, dtype=torch.float64) * (time / steps)
    says = f"{steps:,} steps of {'eq. 6' if separated else 'the exact gradient flow'}"
    return Trajectory(times, {"weights": torch.stack(weights), "loss": torch.stack(losses)}, says=says, steps=steps)


def velocity(teacher: MLP, student: MLP, lane: int, x: Float[Tensor, "N d"], separated: bool) -> Velocity:
    """Return the velocity of one lane by eq. 6 or by eq. 15.

    Args:
        teacher: The teachers, one or as many as students.
        student: The students.
        lane: Number of the student.
        x: Points, (N, d), in float64.
        separated: Whether expectations are separated.
    """
    a, b = Network.of(student, lane), Network.of(teacher, lane % teacher.lanes)
    return separated_velocity(a, b, *streamed_means(a, [a, b], x)) if separated else exact_velocity(a, b, x)


def _moved(net: MLP, lane: int, velocity: Velocity, step: float) -> None:
    for W, b, rate in zip(net.W, net.b, velocity.total, strict=True):
        W.data[lane] += step * rate[:-1]
        if net.bias:
            b.data[lane, 0] += step * rate[-1]


def flat_weights(net: MLP) -> Float[Tensor, "lane P"]:
    """Return all weights and then all biases of every lane as one vector.

    Args:
        net: The networks.
    """
    return torch.cat([p.data.flatten(1) for p in (*net.W, *net.b)], 1)


def with_weights(net: MLP, weights: Float[Tensor, "lane P"]) -> MLP:
    """Return copies of networks with other weights.

    Args:
        net: The networks, which are not changed.
        weights: The weights of every lane, as returned by ``flat_weights``.
    """
    net = deepcopy(net).to(weights.dtype)
    parameters = [*net.W, *net.b]
    for p, part in zip(parameters, weights.split([p[0].numel() for p in parameters], 1), strict=True):
        p.data.copy_(part.reshape(p.shape))
    return net
