"""What is measured of one student: H* and β* in every hidden layer, with its nodes matched to those of the teacher."""

from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from relulab.lab.claim import rank_correlation
from relulab.nets.mlp import MLP
from relulab.subjects.specialization.instruments.correlation import constant_units, correlation
from relulab.subjects.specialization.instruments.layer_means import layer_means
from relulab.subjects.specialization.tools.matching import one_to_one

KINDS = ("H", "beta")


class Matched(NamedTuple):
    """One hidden layer of a student and its teacher.

    Attributes:
        rho: Correlations, teacher nodes × students.
        alive: Which teacher nodes are neither always silent nor constant; only these are compared.
        partner: For each of these nodes, its own student: the sum of the correlations is largest.
        matrices: H* and β*, students × teacher nodes.
    """

    rho: Float[Tensor, "m n"]
    alive: Bool[Tensor, " m"]
    partner: Int[Tensor, " alive"]
    matrices: dict[str, Float[Tensor, "n m"]]


def matched_layers(teacher: MLP, student: MLP, x: Float[Tensor, "N d"]) -> list[Matched]:
    """Compute the matrices of every hidden layer of one student, and match its nodes.

    Args:
        teacher: The teacher, one lane.
        student: The student, one lane.
        x: Points, (N, d).
    """
    star, net, x = teacher.double(), student.double(), x.double()
    with torch.no_grad():
        pairs = list(zip(star.layers(x)[:-1], net.layers(x)[:-1], strict=True))
    found = []
    for (f_star, f), means in zip(pairs, layer_means(net, x, star).values(), strict=True):
        rho, alive = correlation(f_star[0], f[0]), ~constant_units(f_star[0])
        matrices = {"H": means.H_star[0], "beta": means.beta_star[0]}
        found.append(Matched(rho, alive, one_to_one(rho[alive]), matrices))
    return found


def statistics(layers: list[Matched], rng: np.random.Generator) -> dict[str, list[float]]:
    """Return numbers of every layer: how large the diagonal is, and whether students with a high ρ have a high β*.

    Args:
        layers: The layers.
        rng: Random generator of the controls, in which students are assigned to teacher nodes at random.

    Returns:
        By name, one value per layer: log₂ of the ratio of the mean absolute diagonal and off-diagonal entries of H* and
        β*, their rank correlation with ρ over all pairs of nodes, and both for students in random order.
    """
    rows: dict[str, list[float]] = {}
    for one in layers:
        n = one.rho.shape[1]
        order = torch.from_numpy(rng.permutation(n))
        for name, partner in (("", one.partner), ("_random", order[: len(one.partner)])):
            for kind in KINDS:
                ratio = diagonal_ratio(one.matrices[kind][:, one.alive], partner)
                rows.setdefault(f"ratio_{kind}{name}", []).append(ratio)
        beta, rho = one.matrices["beta"][:, one.alive].T, one.rho[one.alive]
        for name, columns in (("", rho), ("_random", rho[:, order])):
            ranks = rank_correlation(columns.flatten().numpy(), beta.flatten().numpy())
            rows.setdefault(f"ranks{name}", []).append(float(ranks))
        rows.setdefault("rho", []).append(float(one.rho[one.alive].amax(1).mean()))
    return rows


def diagonal_ratio(matrix: Float[Tensor, "n m"], partner: Int[Tensor, " m"]) -> float:
    """Return log₂ of the mean absolute diagonal entry over the mean absolute other one, among matched students.

    Args:
        matrix: H* or β*, students × teacher nodes.
        partner: The student of each teacher node.
    """
    size = matrix[partner].abs()
    m = len(size)
    diagonal = size.diagonal().mean()
    other = (size.sum() - size.diagonal().sum()) / (m * (m - 1))
    return float(torch.log2(diagonal / other))


def drawn_entries(one: Matched) -> dict[str, Float[Tensor, "m columns"]]:
    """Return the absolute values of the transposes of H* and β* as the figure shows them.

    Rows are the teacher's nodes. Columns are their partners, in the same order, and then for each node another student,
    the best one to one among those that remain.

    Args:
        one: A layer.
    """
    columns, rest = one.partner, torch.ones(one.rho.shape[1], dtype=torch.bool)
    rest[columns] = False
    others = rest.nonzero()[:, 0]
    if len(others) >= len(columns):
        columns = torch.cat([columns, others[one_to_one(one.rho[one.alive][:, others])]])
    return {kind: matrix[columns][:, one.alive].T.abs().float() for kind, matrix in one.matrices.items()}
