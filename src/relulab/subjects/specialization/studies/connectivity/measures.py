"""What is measured of a pair of students: the loss along the path, along the straight line, and along controls."""

from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from relulab.nets.mlp import MLP
from relulab.subjects.specialization.instruments.correlation import correlation, recovered
from relulab.subjects.specialization.tools.connection import Connection, connect, constant_loss
from relulab.subjects.specialization.tools.hand_over import Slots
from relulab.subjects.specialization.tools.silenced import Silenced
from relulab.subjects.specialization.tools.two_layer_connection import losses, path_between

CURVE = np.linspace(0, 1, 61)  # positions at which losses are stored, as a share of the path


def curves(found: Connection) -> dict[str, Any]:
    """Return the loss along path and line, as shares of the loss of the best constant output.

    Args:
        found: The path.
    """
    position = np.linspace(0, 1, len(found.path))
    path, line = (np.interp(CURVE, position, loss.numpy()) / found.constant for loss in (found.path, found.line))
    largest = {"path": found.path.max(), "line": found.line.max(), "ends": max(found.ends)}
    return {"path_curve": ("position", path), "line_curve": ("position", line)} | {
        name: float(loss) / found.constant for name, loss in largest.items()
    }


def trained(
    star: MLP, a: MLP, b: MLP, earlier: MLP, x: Float[Tensor, "N d"], rng: np.random.Generator
) -> dict[str, Any]:
    """Measure a pair of trained students, with one node per teacher node, and two controls.

    Args:
        star: The teacher.
        a: The first student.
        b: The second student.
        earlier: The first student, earlier in its training.
        x: Points, (N, d): every second one makes the path, and the others measure losses.
        rng: The random generator for the nodes of the control.
    """
    y = star(x)[0].detach()
    made, test = (x[::2], y[::2]), (x[1::2], y[1::2])
    n = a.widths[1]
    keep = min(star.widths[1], n - 1)
    found = connect(a, b, *made, keep=keep, test=test)
    random_a, random_b = (Silenced.of(net, made[0], rng.choice(n, keep, replace=False).tolist()) for net in (a, b))
    by_chance = losses(path_between(random_a, random_b, keep, made[0])[1], *test).max()
    f_star = star.layers(x)[0][0].detach()
    shares = [recovered(correlation(f_star, net.layers(x)[0][0].detach())).double().mean() for net in (a, b)]
    constant = constant_loss(test[1])
    return curves(found) | {
        "recovered": float(min(shares)),
        "segments": float(len(found.moves)),
        "random_path": float(by_chance) / constant,
        "own_line": largest_on_line(earlier, a, test) / constant,
        "own_ends": float(losses([Slots.of(earlier), Slots.of(a)], *test).max()) / constant,
    }


def largest_on_line(a: MLP, b: MLP, test: tuple[Tensor, Tensor]) -> float:
    """Return the largest loss on the straight line between two networks.

    Args:
        a: The first network.
        b: The second network.
        test: Points and target outputs.
    """
    one, two = Slots.of(a), Slots.of(b)
    shares = torch.linspace(0, 1, len(CURVE), dtype=torch.float64).tolist()
    line = [Slots(*(torch.lerp(p, q, t) for p, q in zip(one, two, strict=True))) for t in shares]
    return float(losses(line, *test).max())


def printed(star: MLP, x: Float[Tensor, "N d"], rng: np.random.Generator) -> dict[str, Any]:
    """Measure the pair of figure 13: three nodes, two of them copies of the teacher's, and one without fan-out.

    Args:
        star: A teacher with two nodes.
        x: Points, (N, d).
        rng: The random generator for the weights of the third nodes.
    """
    a, b, c = (_with_slots(star, slots, rng) for slots in ((0, 1), (2, 1), (0, 1)))
    y = star(x)[0].detach()
    found = connect(a, b, x, y)
    shares = {f"exact_{name}": value for name, value in curves(found).items() if name != "ends"}
    shares["exact_own_line"] = largest_on_line(a, c, (x, y)) / found.constant
    return shares | {"exact_segments": float(len(found.moves))}


def _with_slots(star: MLP, slots: tuple[int, int], rng: np.random.Generator) -> MLP:
    """Return a student whose nodes in these slots are those of the teacher; the other node has random weights."""
    d, m, C = star.widths
    net = MLP((d, m + 1, C), dtype=torch.float64)
    spare = torch.from_numpy(rng.standard_normal(d))
    net.W[0].data[0] = (spare / spare.norm())[:, None]
    net.b[0].data[0, 0] = float(star.b[0].data[0, 0, 0])
    net.W[0].data[0, :, list(slots)], net.b[0].data[0, 0, list(slots)] = star.W[0].data[0], star.b[0].data[0, 0]
    net.W[1].data[0, list(slots)], net.b[1].data[0] = star.W[1].data[0], star.b[1].data[0]
    return net
