r"""T5.L1, strong monotonicity: more points never increase the angle to the teacher (T5 lemma 5.1).

For full-rank transfer sets X₋ ⊂ X₊ the students satisfy ᾱ(w*, ŵ(X₊)) ≤ ᾱ(w*, ŵ(X₋))   (5.24),

because cos ᾱ(w*, ŵ(X)) = ‖P_X w*‖/‖w*‖ and the span of X₊ contains the span of X₋. The check adds points one by one, in
several random orders. While ŵ = 0 (all points orthogonal to the teacher), the angle counts as π/2. Students trained on
hard labels have no such guarantee, and neither do other minimizers of the distillation loss.
"""

import numpy as np
import torch
from jaxtyping import Float64
from torch import Tensor

from relulab.core.ranges import at_least
from relulab.core.seeds import Role, stream
from relulab.lab.theorem import Check, Demonstration, Finding, Theorem, Verdict
from relulab.subjects.distillation.instruments.angles import angle
from relulab.subjects.distillation.tools.angle_laws import Angular, PolynomialAngles
from relulab.subjects.distillation.tools.learners import hard_target
from relulab.subjects.distillation.tools.linear_teacher_input import LinearTeacher
from relulab.subjects.distillation.tools.nested import Nested, nested_students
from relulab.subjects.distillation.tools.transfer import Numbers, transfer

ROUNDING = 1e-7  # error of an angle whose cosine is accurate to 1e-15: about the square root of that


def strong_monotonicity(
    X: Numbers, w_star: Numbers, *, orders: int = 10, most: int = 200, seed: int = 0, hard: bool = False
) -> Finding:
    """Check the lemma on a transfer set, adding its points one by one in several random orders.

    Args:
        X: Points, (n, d), one point per row.
        w_star: The teacher w*, (d,), not zero.
        orders: Number of random orders in which points are added.
        most: Maximum number of points that are added in each order.
        seed: Seed of the random orders.
        hard: If True, check a false variant of the statement (negative control): students trained on the teacher's
            hard labels, whose limit is the max-margin vector.

    >>> strong_monotonicity(np.eye(3) + 1, [1.0, 2.0, 3.0]).verdict.name
    'HOLDS'
    """
    X, w_star = transfer(X, w_star)
    at_least(1, orders=orders, most=most)
    rng = stream(0, Role.CHANCE, seed)
    chains = torch.stack([X[torch.from_numpy(rng.permutation(len(X))[:most])] for _ in range(orders)])
    nested = nested_students(chains, w_star)
    dependent = _dependent(nested)
    worst = f"in the worst of {orders:,} orders, {dependent:,} of {chains.shape[1]:,} points are not"
    conditions = (
        Check(
            "Up to the number of dimensions, every added point is linearly independent of those before it",
            dependent, "<=", 0, detail=worst if dependent else f"true in all of {orders:,} orders",
        ),
    )  # fmt: skip
    if not all(c.holds for c in conditions):
        return Finding(conditions, ())
    angles = _hard(chains, w_star) if hard else nested.angles()
    increase = angles.diff(dim=-1).max() if angles.shape[-1] > 1 else torch.tensor(torch.nan)
    says = "The angle to the teacher never increases when a point is added"
    several = angles.shape[-1] > 1
    detail = f"the largest change is {float(increase):.3g}" if several else "unknown, because there is only one point"
    return Finding(conditions, (Check(says, float(increase), "<=", ROUNDING, detail=detail),))


def _dependent(nested: Nested) -> int:
    """The largest number, over all orders, of dependent points among the first d."""
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
    title="Strong monotonicity: more points never increase the angle to the teacher",
    statement="Let X₋ ⊂ X₊ be two transfer sets of full rank. Then ᾱ(w*, ŵ(X₊)) ≤ ᾱ(w*, ŵ(X₋)).",
    symbols={
        "X₋": "a transfer set",
        "X₊": "a transfer set that contains X₋",
        "w*": "weights of the linear teacher",
        "ŵ(X)": "weights of the student distilled on X: w* projected onto the span of X; also written ŵ",
        "ᾱ(u, v)": "unsigned angle between u and v, in [0, π/2]",
    },
    in_print="The angle is undefined for ŵ = 0, which happens if all points are orthogonal to w*. Here it counts as "
    "π/2. The text says that more data can never increase the transfer risk, but the lemma is about the angle.",
    source="T5 lemma 5.1, eq. 5.24",
    check=strong_monotonicity,
    on={LinearTeacher: strong_monotonicity},
    variants=("hard",),
    demonstrations=(
        Demonstration("15 points in R²⁰ at uniform angles to the teacher", Verdict.HOLDS, _case),
        Demonstration("30 points in R²⁰, more points than dimensions", Verdict.HOLDS, lambda: _case(30)),
        Demonstration("Every point twice, so not of full rank", Verdict.NOT_APPLICABLE, _twice),
        Demonstration("Negative control: students trained on hard labels", Verdict.REFUTED, lambda: _case(hard=True)),
    ),
)
