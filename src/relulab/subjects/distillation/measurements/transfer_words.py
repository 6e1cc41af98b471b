"""The answer of a transfer-risk measurement in words: short facts first, then explanations."""

from relulab.lab.show.parts import Fact
from relulab.lab.show.words import number

SHOWN = ("5%", "50%", "95%")  # quantiles of the angles; the JSON document has more


def answer(rows: dict) -> list[Fact]:
    """The number of points needed for the wanted risk, by the measured curve and by the bound."""
    wanted = rows["wanted"]
    return [
        Fact("wanted risk", f"at most {wanted['risk']:g}"),
        Fact("points needed, measured", _by_measure(rows)),
        Fact("points needed, bound", _by_bound(wanted)),
    ]


def _by_measure(rows: dict) -> str:
    n = rows["wanted"]["by_measure"]
    for row in rows["rows"]:
        if row["n"] == n:
            return f"{n:,}, smallest sufficient n tried (upper limit {number(row['high'])})"
    best = min(rows["rows"], key=lambda row: row["high"])
    return f"not reached (lowest upper limit {number(best['high'])} at n = {best['n']:,})"


def _by_bound(wanted: dict) -> str:
    n = wanted["by_bound"]
    if n is None:
        return "no number of points is enough"
    if not wanted["only_by_rank"]:
        return f"{n:,}"
    return f"{n:,}, because {'it spans' if n == 1 else 'they span'} all dimensions"


def facts(rows: dict) -> list[Fact]:
    """The data, the teacher's answers and the angles of the points to the teacher."""
    angles, kappa, share = rows["angles"], rows["kappa"], rows["positive"]
    answers = f"{share:.0f} for all points" if share in (0, 1) else f"1 for {share:.1%} of the points"
    margin = f"margin {angles['margin']:.2g}°" if angles["margin"] > 0 else "no margin"
    lines = [
        Fact("points", f"{rows['points']:,} in {_dimensions(rows['dimensions'])}, rank {rows['rank']:,}"),
        Fact("teacher's answers", answers),
        Fact("angles to the teacher", ", ".join(f"{q}: {angles['quantiles'][q]:.1f}°" for q in SHOWN)),
        Fact("largest angle", f"{angles['largest']:.2f}° ({margin})"),
    ]
    if kappa:
        lines.append(Fact("fitted degree κ", f"{number(kappa)} (largest gap {number(rows['kappa_gap'])})"))
    return [*lines, Fact("band of the sample", f"{number(rows['band'])} at confidence {rows['confidence']:g}")]


def explanations(rows: dict) -> list[str]:
    """What limits the answer, what the points can teach, and what the numbers mean."""
    return [*_limits(rows), *_span(rows), *_troubles(rows), *_terms(rows)]


def _limits(rows: dict) -> list[str]:
    """Why the measured curve or the bound does not give a smaller number of points."""
    wanted, lines = rows["wanted"], []
    if wanted["by_measure"] is None and wanted["count_for_measure"] > rows["counted_on"]:
        lines.append(
            f"Errors are counted on {rows['counted_on']:,} points. A risk of at most {wanted['risk']:g} takes at least "
            f"{wanted['count_for_measure']:,}."
        )
    if wanted["by_bound"] == 1 or not (wanted["by_bound"] is None or wanted["only_by_rank"]):
        return lines
    if rows["band"] >= wanted["risk"]:
        lines += [
            f"The bound is never below the band ({number(rows['band'])}), except where it is 0.",
            f"A band below {wanted['risk']:g} takes a sample of {wanted['sample_for_band']:,} points.",
        ]
    if wanted["never"]:
        least = rows["angles"]["least"]
        lines.append(
            f"The smallest angle is {least:.3g}°. So the bound is never below the share of angles of at least "
            f"{90 - least:.3g}° ({wanted['unreached']:.1%}), except where it is 0."
        )
    else:
        n = wanted["by_bound_without_band"]
        full_rank = ", even if they did not span all dimensions" if n == wanted["by_bound"] else ""
        lines.append(f"Without the band, the bound would need {_points(n)}{full_rank}.")
    return lines


def _span(rows: dict) -> list[str]:
    d, r, half = rows["dimensions"], rows["rank"], rows["rank_of_half"]
    if r == d:
        span = "the only dimension" if d == 1 else f"all {_dimensions(d)}"
        return [
            f"The points span {span}: {_points(d)} that span{'s' * (d == 1)} as much leave{'s' * (d == 1)} no risk."
        ]
    lines = [
        f"The points span {r:,} of {_dimensions(d)}. A student learns the projection P w* of the teacher.",
        f"The part of the teacher outside the span is ‖w* − P w*‖/‖w*‖ = {number(rows['outside'])}.",
    ]
    if rows["projected"]:
        return [
            *lines,
            f"In the span, P w* gives the teacher's answers: {_points(r)} that span it leave no risk.",
            "Angles and bound are those of the projection.",
        ]
    return [
        *lines,
        f"Half of the points span only {half:,} dimensions, so new points will lie outside the span.",
        f"For zero risk, {d:,} points that span all dimensions are needed.",
        "Angles and bound are those of the teacher.",
    ]


def _troubles(rows: dict) -> list[str]:
    lines = []
    if rows["positive"] in (0, 1):
        lines.append("The teacher gives every point the same answer, so students can make few errors.")
    if rows["sure"]:
        lines += [
            f"{rows['sure']:.1%} of the soft labels are 0 or 1 in single precision (logits beyond 16.7).",
            "Students trained on such rounded labels do not reach the limit measured here.",
            "Divide the points or the teacher by a constant; this changes no answer.",
        ]
    if not rows["general_position"]:
        lines += [
            "Sets of these points are often linearly dependent (see the column rank).",
            "T5 assumes inputs with a density, where this does not happen.",
            "Here, as many points as dimensions may leave a risk, and the bound is not 0.",
        ]
    return lines


def _terms(rows: dict) -> list[str]:
    lines = []
    if rows["kappa"] is None:
        lines.append("All angles are 0: every point is parallel to the teacher, so one is enough.")
    elif rows["kappa"] > 0:
        lines.append("κ is fitted to p(θ) = (1 − 2θ/π)^κ (T5 corollary 5.2). Larger is better.")
    return [
        *lines,
        "p(θ) is the probability that an input has an angle of θ or more to the teacher.",
        "The bound uses the share of such points in the sample plus the band.",
        f"With confidence {rows['confidence']:g}, p(θ) is nowhere above that sum.",
    ]


def _points(n: int) -> str:
    return f"{n:,} point{'s' * (n != 1)}"


def _dimensions(d: int) -> str:
    return f"{d:,} dimension{'s' * (d != 1)}"
