"""The numbers of a transfer-risk report: angles, bound and measured risk for a linear teacher."""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Float64
from torch import Tensor

from relulab.core.angle import unit_rows
from relulab.core.errors import UserError
from relulab.core.seeds import Role, stream
from relulab.subjects.distillation.instruments.angles import angle
from relulab.subjects.distillation.tools.angle_laws import RIGHT, PolynomialAngles
from relulab.subjects.distillation.tools.bound import MOST, Bound, samples_needed, transfer_bound
from relulab.subjects.distillation.tools.estimated_angles import EstimatedAngles
from relulab.subjects.distillation.tools.nested import DEPENDENT
from relulab.subjects.distillation.tools.risk_curve import Curve, sample_risks
from relulab.subjects.distillation.tools.sample_span import Span, ends, sample_span, usual_sizes
from relulab.subjects.distillation.tools.transfer import Numbers, transfer

SURE = 16.7  # smallest logit at which σ rounds to 1 in single precision
QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)


class TransferReport(NamedTuple):
    """Angles, bounds and measured risks of students of a linear teacher, for a sample of points.

    ``d`` is the number of dimensions and ``w`` the teacher. If the points lie in a subspace, ``d`` is its dimension and
    ``w`` the projection of the teacher onto it, which has smaller angles. ``general`` is True if sets of n points had
    rank min(n, d), as T5 assumes. ``positive`` is the share of points that the teacher answers with 1. ``sure`` is the
    share of points whose soft label is 0 or 1 in single precision.
    """

    X: Float64[Tensor, "N D"]
    w: Float64[Tensor, " D"]
    d: int
    span: Span
    law: EstimatedAngles
    curve: Curve
    general: bool
    bound: Bound
    tight: Bound
    positive: float
    sure: float


def transfer_report(
    X: Numbers,
    w_star: Numbers,
    n: Sequence[int] | None = None,
    *,
    sets: int = 100,
    confidence: float = 0.95,
    seed: int = 0,
) -> TransferReport:
    """Compute the angle distribution, the bound of T5 theorem 5.3 and the measured risk of students of n points.

    The bound is 0 for n ≥ d only if all transfer sets had full rank.

    Args:
        X: The sample, (N, d), one point per row, at least 3 points.
        w_star: The teacher w*, (d,), not zero.
        n: Numbers of points per transfer set. Default: up to d, or 2d if sets of d points have a lower rank, but at
            most half of the points.
        sets: Number of random transfer sets per n, at least 2.
        confidence: Confidence of the band and of the intervals, from 0.5 to below 1.
        seed: Seed of the transfer sets.
    """
    X, w_star = transfer(X, w_star)
    EstimatedAngles.of(X, w_star, confidence)  # rejects zero points and wrong confidences early
    if len(X) < 3:
        raise UserError(
            f"expected at least 3 points, got {len(X)}: a student needs one, and errors are counted on 2 others or more"
        )
    logits = X @ w_star
    positive, sure = float((logits >= 0).double().mean()), float((logits.abs() > SURE).double().mean())
    X, w = unit_rows(X), unit_rows(w_star[None])[0]
    rng = stream(seed, Role.CHANCE)
    span = sample_span(X, w, rng)
    d = X.shape[1]
    if span.settled and span.rank < d:
        w, d = span.within, span.rank
    if not ((X @ w).abs() > DEPENDENT).any() or not w.norm() > DEPENDENT:
        raise UserError(
            "the teacher is orthogonal to every point, so all soft labels are ½ and nothing can be learned: use other "
            "points or another teacher"
        )
    law = EstimatedAngles.of(X, w, confidence)
    if n is None:
        n = usual_sizes(len(X), *ends(X, w, span, rng))
    curve = sample_risks(X, w, n, sets=sets, rng=rng, confidence=confidence)
    general = bool((curve.rank == np.minimum(curve.n, d)).all())
    loose, tight = (transfer_bound(law, curve.n, d=d if general else None, tight=tight) for tight in (False, True))
    return TransferReport(X, w, d, span, law, curve, general, loose, tight, positive, sure)


def transfer_rows(report: TransferReport, *, risk: float, tight: bool = False) -> dict:
    """Return the report as a JSON document, with the number of points needed for a wanted risk; angles in degrees.

    Args:
        report: The report.
        risk: The wanted risk, above 0 and at most 1.
        tight: Whether the column ``bound`` is the tight bound.
    """
    law, curve, span = report.law, report.curve, report.span
    a, kappa = np.degrees(law.angles), fitted(law)
    columns = {
        "n": curve.n, "bound": (report.tight if tight else report.bound).value, "loose_bound": report.bound.value,
        "tight_bound": report.tight.value, "risk": curve.risk, "low": curve.low, "high": curve.high, "rank": curve.rank,
    }  # fmt: skip
    lists = {name: column.tolist() for name, column in columns.items()}
    return {
        "points": len(report.X), "dimensions": report.X.shape[1], "rank": span.rank, "rank_of_half": span.half,
        "outside": span.outside, "projected": span.settled and span.rank < report.X.shape[1],
        "general_position": report.general, "positive": report.positive, "sure": report.sure,
        "angles": {"least": a[0], "largest": a[-1], "margin": max(0.0, 90 - a[-1]),
                   "quantiles": {f"{q:.0%}": float(np.quantile(a, q)) for q in QUANTILES}},
        "kappa": kappa, "kappa_gap": _gap(law), "confidence": law.confidence, "band": law.band,
        "tight": tight, "counted_on": counted_on(report),
        "rows": [dict(zip(lists, row, strict=True)) for row in zip(*lists.values(), strict=True)],
        "wanted": wanted(report, risk, tight),
    }  # fmt: skip


def fitted(law: EstimatedAngles) -> float | None:
    """Return the fitted κ of the sample, or None if all angles are 0 up to rounding."""
    return law.kappa if law.kappa < 1 / DEPENDENT else None


def _gap(law: EstimatedAngles) -> float | None:
    """Return the largest difference between the share in the sample and the fitted polynomial."""
    if not fitted(law):
        return None
    theta = np.concatenate([law.angles, np.nextafter(law.angles, 2)])  # before and after each step
    return float(np.abs(law.share(theta) - PolynomialAngles(law.kappa).p(theta)).max())


def counted_on(report: TransferReport) -> int:
    """Return the number of points that errors were counted on."""
    return len(report.X) - max(len(report.X) // 2, int(report.curve.n.max()))


def wanted(report: TransferReport, risk: float, tight: bool) -> dict:
    """Return how many points a risk takes, by the bound and by the measured curve, and what limits the answer."""
    law, curve = report.law, report.curve
    d = report.d if report.general else None
    by_bound = samples_needed(law, risk, d=d, tight=tight)
    sharp = EstimatedAngles(law.angles, None)  # as if the sample were the true distribution
    by_rank, near = (d is not None and transfer_bound(p, d, tight=tight).value.item() > risk for p in (law, sharp))
    without_band = samples_needed(sharp, risk, d=d, tight=tight)
    enough = curve.n[curve.high <= risk]
    c = law.confidence or 0.0
    return {
        "risk": risk, "by_bound": by_bound, "only_by_rank": by_rank,
        "by_bound_without_band": without_band, "never": near or without_band is None,
        "unreached": float(law.share(RIGHT - law.angles[0])),
        "sample_for_band": math.floor(min(-math.log(1 - c) / 2 / risk / risk, MOST)) + 1,
        "by_measure": int(enough.min()) if len(enough) else None,
        # without any error on M points, the upper limit is 1 − ((1 − c)/2)^{1/M}
        "count_for_measure": math.ceil(min(math.log((1 - c) / 2) / math.log1p(-risk), MOST)) if risk < 1 else 1,
    }  # fmt: skip


def arrays(report: TransferReport) -> dict[str, np.ndarray]:
    """Return the arrays for a file: the curve, both bounds with their β, all angles in radians, and the teacher."""
    return {
        **report.curve._asdict(), "bound": report.bound.value, "beta": report.bound.beta,
        "tight_bound": report.tight.value, "tight_beta": report.tight.beta,
        "angles": angle(report.X, report.w).numpy(), "w": report.w.numpy(),
    }  # fmt: skip
