r"""T5.L1, more points never harm (T5 lemma 5.1, strong monotonicity).

For full-rank transfer sets X₋ ⊂ X₊ the students have ᾱ(w*, ŵ(X₊)) ≤ ᾱ(w*, ŵ(X₋))   (5.24),

since cos ᾱ(w*, ŵ(X)) = ‖P_X w*‖/‖w*‖ and the span of X₊ holds that of X₋. It is checked along chains: points are added
one by one, in several random orders. While ŵ = 0, as for points at right angles to the teacher, its angle counts as
π/2. A student that sees hard labels only has no such guarantee, nor have other minimizers of the distillation loss.
"""

import numpy as np
import torch
from jaxtyping import Float64
from torch import Tensor

from relulab.core.seeds import Role, stream
from relulab.lab.theorem import Check, Demonstration, Finding, Theorem, Verdict
from relulab.subjects.distillation.instruments.angles import angle
from relulab.subjects.distillation.tools.angle_laws import Angular, PolynomialAngles
from relulab.subjects.distillation.tools.learners import hard_target
from relulab.subjects.distillation.tools.linear_teacher_input import LinearTeacher
from relulab.subjects.distillation.tools.nested import Nested, nested_students
from relulab.subjects.distillation.tools.transfer import Numbers, transfer

ROUNDING = 1e-7  # of an angle: its cosine is right to 1e-15, the angle itself to the root of that


def strong_monotonicity(
    X: Numbers, w_star: Numbers, *, orders: int = 10, most: int = 200, seed: int = 0, hard: bool = False
) -> Finding:
    """Checks the lemma on a transfer set, adding its points one by one in ``orders`` random orders, up to ``most``.

    Args:
        X: Points, (n, d), a point a row.
        w_star: The teacher w*, (d,), not zero.
        orders: Number of random orders in which points are added.
        most: The most points that are added in each.
        seed: Seed of the orders.
        hard: A false variant of the statement, for the negative control: students of the teacher's hard labels, whose
            limit is the max-margin vector.

    >>> strong_monotonicity(np.eye(3) + 1, [1.0, 2.0, 3.0]).verdict.name
    'HOLDS'
    """
    X, w_star = transfer(X, w_star)
    rng = stream(0, Role.CHANCE, seed)
    chains = torch.stack([X[torch.from_numpy(rng.permutation(len(X))[:most])] for _ in range(orders)])
    nested = nested_students(chains, w_star)
    conditions = (
        Check("points of a chain that its predecessors span, before there are d of them", _dependent(nested), "<=", 0),
    )
    if not all(c.holds for c in conditions):
        return Finding(conditions, ())
    angles = _hard(chains, w_star) if hard else nested.angles()
    rise = angles.diff(dim=-1).max() if angles.shape[-1] > 1 else torch.tensor(torch.nan)
    says = f"largest rise of the angle to the teacher when a point is added, in {orders} orders"
    return Finding(conditions, (Check(says, float(rise), "<=", ROUNDING),))


def _dependent(nested: Nested) -> int:
    first = nested.new[..., : nested.Q.shape[-1]]
    return int((~first).sum(-1).max())


def _hard(chains: Float64[Tensor, "orders n d"], w_star: Float64[Tensor, " d"]) -> Float64[Tensor, "orders n"]:
    students = [hard_target(chains[:, : k + 1], w_star) for k in range(chains.shape[1])]
    return angle(torch.stack(students, 1), w_star)


def _case(n: int = 15, **options) -> Finding:
    task = Angular(20, PolynomialAngles(1.0))
    return strong_monotonicity(task.draw(stream(0, Role.DEMONSTRATION, 16), n), task.e1, **options)


def _twice() -> Finding:
    X = stream(0, Role.DEMONSTRATION, 16).standard_normal((6, 20))
    return strong_monotonicity(np.concatenate([X, X]), np.ones(20))


THEOREM = Theorem(
    id="T5.L1",
    title="More points never harm",
    statement="Of two transfer sets of full rank, one within the other, the student of the larger one has the smaller "
    "angle to the teacher.",
    source="T5 lemma 5.1, eq. 5.24",
    check=strong_monotonicity,
    on={LinearTeacher: strong_monotonicity},
    variants=("hard",),
    demonstrations=(
        Demonstration("15 points in R²⁰ at uniform angles to the teacher", Verdict.HOLDS, _case),
        Demonstration("30 points in R²⁰, more than dimensions", Verdict.HOLDS, lambda: _case(30)),
        Demonstration("every point twice: not of full rank", Verdict.NOT_APPLICABLE, _twice),
        Demonstration("negative control: students of hard labels", Verdict.REFUTED, lambda: _case(hard=True)),
    ),
)
