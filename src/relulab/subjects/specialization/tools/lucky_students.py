"""Two-layer students with a node near each teacher node (LM section 3.3)."""

from typing import NamedTuple

from jaxtyping import Float
from torch import Tensor, nn

from relulab.core.errors import UserError
from relulab.nets.mlp import as_mlp
from relulab.subjects.specialization.instruments.overlaps import lengths
from relulab.subjects.specialization.tools.lucky_nodes import SAME, LuckyNodes, lucky_nodes
from relulab.subjects.specialization.tools.nodes import lowest


class LuckyStudents(NamedTuple):
    """Teacher nodes and students with weights of norm one, and their fan-outs, for inputs from N(0, I).

    Args:
        lucky: The nodes; the u-set comes first.
        v_star: Fan-outs of the teacher nodes, (m, C).
        v: Fan-outs of the students, (n, C).
        shift: Largest difference between output biases.
        allowed: The largest difference that counts as rounding.
    """

    lucky: LuckyNodes
    v_star: Float[Tensor, "m C"]
    v: Float[Tensor, "n C"]
    shift: float
    allowed: float

    def distances(self) -> tuple[float, float]:
        """Return the largest ‖v_j − v*_j‖ of the u-set and the largest ‖v_j‖ of the r-set, 0 without an r-set."""
        m = self.lucky.m
        near, far = (self.v[:m] - self.v_star).norm(dim=1), self.v[m:].norm(dim=1)
        return float(near.max()), float(far.max()) if len(far) else 0.0


def lucky_students(teacher: nn.Module, student: nn.Module, std: float = 1.0) -> LuckyStudents:
    """Give every teacher node the nearest student, and move norms of input weights into the fan-outs.

    Args:
        teacher: One two-layer ReLU network.
        student: Another one with the same inputs and outputs, with at least as many hidden nodes.
        std: Standard deviation of the inputs, above 0.
    """
    nets = [as_mlp(net) for net in (teacher, student)]
    for name, net in zip(("teacher", "student"), nets, strict=True):
        if net.lanes != 1 or net.depth != 2 or net.slope:
            raise UserError(
                f"expected one {name} with two layers and plain ReLUs, got {net!r}: select a lane with net.lane(i), or "
                "use another network"
            )
    star, net = nets
    if star.widths[-1] != net.widths[-1]:
        raise UserError(
            f"expected a teacher and a student with equal outputs, got {star.widths[-1]} and {net.widths[-1]}: use "
            "networks of the same task"
        )
    lucky = lucky_nodes(lowest(star), lowest(net), std)
    v_star, v = (std * lengths(lowest(one))[:, None] * one.W[1].data[0].double() for one in nets)
    outer = [one.b[1].data[0, 0].double() for one in nets]
    allowed = SAME * max(float(b.abs().max()) for b in outer)
    return LuckyStudents(lucky, v_star, v[lucky.order], float((outer[0] - outer[1]).abs().max()), allowed)
