"""A teacher, a student and points as theorems on gradients need them: in float64, with one teacher per student."""

from copy import deepcopy
from math import log2
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor, nn

from relulab.core.errors import UserError
from relulab.lab.theorem import Check
from relulab.nets.hooks import points
from relulab.nets.mlp import MLP, as_mlp, check_points


class MatchedPair(NamedTuple):
    """Copies of two networks in float64, points of every lane, and whether depth and outputs agree."""

    teacher: MLP
    student: MLP
    x: Float[Tensor, "lane N d"]
    conditions: tuple[Check, Check]

    @property
    def matches(self) -> bool:
        """Whether both networks have the same depth and outputs."""
        return all(c.holds for c in self.conditions)

    def scaled(self) -> "MatchedPair":
        """Return the pair with inputs and output weights of size one, scaled by powers of two.

        This rounds nothing. The inputs are divided by a number that multiplies the lowest weights, so that no
        activation changes. Products of several activations and weights then stay in the range of float64.
        """
        nets = self.teacher, self.student
        inputs = _power_of_two(float(self.x.abs().max()))
        outputs = _power_of_two(max(float(p.data.abs().max()) for net in nets for p in (net.W[-1], net.b[-1])))
        scaled = []
        for net in map(deepcopy, nets):
            net.W[0].data *= inputs
            net.W[-1].data /= outputs
            net.b[-1].data /= outputs
            scaled.append(net)
        return self._replace(teacher=scaled[0], student=scaled[1], x=self.x / inputs)


def matched_pair(teacher: nn.Module, student: nn.Module, x: Float[Tensor | np.ndarray, "*lane N d"]) -> MatchedPair:
    """Convert networks and points, which are not changed. A single teacher is repeated for all students.

    Args:
        teacher: An ``MLP`` or a plain Linear-ReLU-…-Linear module, with one lane or as many lanes as the student.
        student: Another such network with the same inputs.
        x: Points, (N, d) or (lane, N, d), at least one.
    """
    star, net = (deepcopy(as_mlp(one)).double() for one in (teacher, student))
    x = points(x)
    if star.widths[0] != net.widths[0] or x.shape[-1] != net.widths[0]:
        raise UserError(
            f"the teacher has {star.widths[0]} inputs, the student {net.widths[0]}, and the points {x.shape[-1]}: all "
            "three must agree"
        )
    if star.lanes not in (1, net.lanes) or not x.numel():
        raise UserError(
            f"got {star.lanes} teachers for {net.lanes} students at {x.shape[-2]} points: expected one teacher, or one "
            "per student, and at least one point"
        )
    conditions = (
        _same_number("layers", net.depth, star.depth),
        _same_number("outputs", net.widths[-1], star.widths[-1]),
    )
    if star.lanes != net.lanes:
        star = MLP.of(*[star.module()] * net.lanes)
    x = x.detach().double()
    check_points(net, x)
    return MatchedPair(star, net, x.expand(net.lanes, *x.shape[-2:]), conditions)


def _same_number(name: str, count: int, count_star: int) -> Check:
    says = f"Student and teacher have the same number of {name}"
    return Check(says, count, "==", count_star, detail=f"student {count:,}, teacher {count_star:,}")


def worst_entry(gap: Float[Tensor, "*shape"], allowance: Float[Tensor, "*shape"]) -> tuple[float, float]:
    """Return a difference and its rounding allowance, at the entry where their ratio is largest.

    Args:
        gap: Absolute differences.
        allowance: What rounding may contribute to each of them.
    """
    share = gap / allowance.clamp(min=torch.finfo(gap.dtype).tiny)
    at = share.flatten().argmax()
    return float(gap.flatten()[at]), float(allowance.flatten()[at])


def _power_of_two(size: float) -> float:
    return 2.0 ** round(log2(size)) if size else 1.0
