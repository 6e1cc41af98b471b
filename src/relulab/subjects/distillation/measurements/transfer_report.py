"""How many points a linear student of a user's teacher needs: angles, bound and measured risk, as numbers."""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Float64
from torch import Tensor

from relulab.core.errors import UserError
from relulab.core.seeds import Role, stream
from relulab.subjects.distillation.instruments.angles import angle
from relulab.subjects.distillation.tools.angle_laws import RIGHT, PolynomialAngles
from relulab.subjects.distillation.tools.bound import MOST, Bound, samples_needed, transfer_bound
from relulab.subjects.distillation.tools.estimated_angles import EstimatedAngles
from relulab.subjects.distillation.tools.nested import DEPENDENT
from relulab.subjects.distillation.tools.risk_curve import Curve, sample_risks
from relulab.subjects.distillation.tools.sample_span import Span, ends, sample_span, usual_sizes
from relulab.subjects.distillation.tools.transfer import Numbers, directions, transfer

SURE = 16.7  # the logit from which σ is 1 in single precision
QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)


class TransferReport(NamedTuple):
    """What a sample of points says about the students of a linear teacher.

    ``w`` is the teacher as such points see it and ``d`` the number of their dimensions: of points in a subspace its
    projection, whose angles are smaller. ``general`` says that sets of n points had rank min(n, d), as T5 supposes.
    ``positive`` is the share of points that the teacher answers 1 to, ``sure`` that of points whose soft label is 0 or
    1 in single precision.
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
    """The law of the angles, the bound of T5 theorem 5.3 and the measured risk of students of n points of a sample.

    Without ``n`` it goes up to the dimensions, twice as far if that many points have a lower rank, but to half of the
    points at most. The bound is 0 from d on only where sets of points were of full rank.
    """
    X, w_star = transfer(X, w_star)
    EstimatedAngles.of(X, w_star, confidence)  # refuses zero points and odd confidences before work is done
    if len(X) < 3:
        raise UserError(
            f"{len(X)} point{'s' * (len(X) > 1)}: at least 3 are needed, one to learn from, 2 to count errors on"
        )
    logits = X @ w_star
    positive, sure = float((logits >= 0).double().mean()), float((logits.abs() > SURE).double().mean())
    X, w = directions(X), directions(w_star[None])[0]
    rng = stream(seed, Role.CHANCE)
    span = sample_span(X, w, rng)
    d = X.shape[1]
    if span.settled and span.rank < d:
        w, d = span.within, span.rank
    if not ((X @ w).abs() > DEPENDENT).any() or not w.norm() > DEPENDENT:
        raise UserError("the teacher is at a right angle to every point: it answers ½ to all, and teaches nothing")
    law = EstimatedAngles.of(X, w, confidence)
    if n is None:
        n = usual_sizes(len(X), *ends(X, w, span, rng))
    curve = sample_risks(X, w, n, sets=sets, rng=rng, confidence=confidence)
    general = bool((curve.rank == np.minimum(curve.n, d)).all())
    loose, tight = (transfer_bound(law, curve.n, d=d if general else None, tight=tight) for tight in (False, True))
    return TransferReport(X, w, d, span, law, curve, general, loose, tight, positive, sure)


def transfer_rows(found: TransferReport, *, risk: float, tight: bool = False) -> dict:
    """The numbers for a document, and how many points do for a wanted risk; angles in degrees."""
    law, curve, span = found.law, found.curve, found.span
    a, kappa = np.degrees(law.angles), fitted(law)
    columns = {
        "n": curve.n, "bound": (found.tight if tight else found.bound).value, "loose_bound": found.bound.value,
        "tight_bound": found.tight.value, "risk": curve.risk, "low": curve.low, "high": curve.high, "rank": curve.rank,
    }  # fmt: skip
    lists = {name: column.tolist() for name, column in columns.items()}
    return {
        "points": len(found.X), "dimensions": found.X.shape[1], "rank": span.rank, "rank_of_half": span.half,
        "outside": span.outside, "projected": span.settled and span.rank < found.X.shape[1],
        "general_position": found.general, "positive": found.positive, "sure": found.sure,
        "angles": {"least": a[0], "largest": a[-1], "margin": max(0.0, 90 - a[-1]),
                   "quantiles": {f"{q:.0%}": float(np.quantile(a, q)) for q in QUANTILES}},
        "kappa": kappa, "kappa_gap": _gap(law), "confidence": law.confidence, "band": law.band,
        "tight": tight, "counted_on": counted_on(found),
        "rows": [dict(zip(lists, row, strict=True)) for row in zip(*lists.values(), strict=True)],
        "wanted": wanted(found, risk, tight),
    }  # fmt: skip


def fitted(law: EstimatedAngles) -> float | None:
    """The κ that suits the sample best; None if all angles are 0 but for rounding."""
    return law.kappa if law.kappa < 1 / DEPENDENT else None


def _gap(law: EstimatedAngles) -> float | None:
    """The largest difference of the sample's share and the polynomial that suits it best."""
    if not fitted(law):
        return None
    theta = np.concatenate([law.angles, np.nextafter(law.angles, 2)])  # before and after each step
    return float(np.abs(law.share(theta) - PolynomialAngles(law.kappa).p(theta)).max())


def counted_on(found: TransferReport) -> int:
    """The points that errors were counted on."""
    return len(found.X) - max(len(found.X) // 2, int(found.curve.n.max()))


def wanted(found: TransferReport, risk: float, tight: bool) -> dict:
    """How many points do for a risk, by the bound and by the measured curve, and what stands in the way."""
    law, curve = found.law, found.curve
    d = found.d if found.general else None
    by_bound = samples_needed(law, risk, d=d, tight=tight)
    sharp = EstimatedAngles(law.angles, None)  # as if the sample were the law itself
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
        # without a single error the upper limit is 1 − ((1 − c)/2)^(1/M), on M points
        "count_for_measure": math.ceil(min(math.log((1 - c) / 2) / math.log1p(-risk), MOST)) if risk < 1 else 1,
    }  # fmt: skip


def arrays(found: TransferReport) -> dict[str, np.ndarray]:
    """For a file: the curve, both bounds with their β, the angle of every row in radians, and the teacher."""
    return {
        **found.curve._asdict(), "bound": found.bound.value, "beta": found.bound.beta,
        "tight_bound": found.tight.value, "tight_beta": found.tight.beta,
        "angles": angle(found.X, found.w).numpy(), "w": found.w.numpy(),
    }  # fmt: skip
