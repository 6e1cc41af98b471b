"""What a report on transfer risk means, in sentences, from the numbers of its document."""

from relulab.lab.words import number


def sentences(rows: dict) -> list[str]:
    """What was given, and what the angles of its points are like."""
    return [*_span(rows), *_angles(rows)]


def _span(rows: dict) -> list[str]:
    N, d, r, half = rows["points"], rows["dimensions"], rows["rank"], rows["rank_of_half"]
    said = []
    if r == d:
        said.append(f"The {N:,} points span all {_dimensions(d)}: {_points(d)} that do so leave no risk.")
    else:
        said.append(
            f"The {N:,} points span {r} of {_dimensions(d)}: students learn the projection P w* of the teacher on the "
            f"span of their points (the pseudo-inverse), and ‖w* − P w*‖/‖w*‖ = {number(rows['outside'])} of it lies "
            "outside of what all of them span."
        )
        if rows["projected"]:
            said.append(
                f"On points in that span the projection answers as the teacher does, so {_points(r)} that span it "
                "leave no risk on such points; angles and bound are those of the projection."
            )
        else:
            said.append(
                f"A half of them spans {half} only, so further points will lead out of that span, and no number of "
                f"points below {d} leaves no risk on them; angles and bound are those of the teacher itself."
            )
    if not rows["general_position"]:
        said.append(
            "Sets of these points are often linearly dependent, as the ranks below tell, and as points with a density, "
            f"of which T5 speaks, never are: that so many points as dimensions leave no risk cannot be promised, and "
            "the bound does not count on it."
        )
    return said


def _angles(rows: dict) -> list[str]:
    angles, kappa = rows["angles"], rows["kappa"]
    shares = ", ".join(f"{share} within {a:.1f}°" for share, a in angles["quantiles"].items())
    margin = angles["margin"]
    said = [
        f"Of their angles to the teacher {shares}; the largest is {angles['largest']:.2f}°, so "
        + (f"all points are {margin:.2g}° or more off its boundary." if margin > 0 else "a point lies on its boundary.")
    ]
    if kappa is None:
        said.append("All angles are 0: every point lies along the teacher, and any one of them tells all.")
    elif kappa > 0:
        said.append(
            f"The law p(θ) = (1 − 2θ/π)^κ of T5 corollary 5.2 suits them best with κ = {number(kappa)}; the larger κ "
            "is, the fewer points do."
        )
    said.append(
        f"With confidence {rows['confidence']:g} the true p(θ) lies at most {number(rows['band'])} above the share of "
        f"the {rows['points']:,} angles that are θ or more; the bound takes that band for p, so below d points it is "
        "never smaller."
    )
    return said


def answer(rows: dict) -> str:
    """How many points do for the wanted risk."""
    w = rows["wanted"]
    measured = [row for row in rows["rows"] if row["n"] == w["by_measure"]]
    if measured:
        by_measure = f"{_points(w['by_measure'])} by the measured curve (upper limit {number(measured[0]['high'])})"
    else:
        least = min(rows["rows"], key=lambda row: row["high"])
        by_measure = f"no measured n, of which {least['n']} has the least upper limit, {number(least['high'])}"
        if w["count_for_measure"] > rows["counted_on"]:
            by_measure += (
                f" (errors are counted on {rows['counted_on']:,} points, and even without any it takes "
                f"{w['count_for_measure']:,} to tell)"
            )
    return f"For a risk of at most {w['risk']:g}: {by_measure}, and {_by_bound(rows)}."


def _by_bound(rows: dict) -> str:
    w = rows["wanted"]
    if w["by_bound"] is not None and not w["only_by_rank"]:
        return f"{_points(w['by_bound'])} by the bound"
    band, better = rows["band"], w["by_bound_without_band"]
    why = []
    if band >= w["risk"]:
        why.append(
            f"the band of the sample is {number(band)} wide, and one narrower than {w['risk']:g} takes "
            f"{w['sample_for_band']:,} points"
        )
    if better is None or better == w["by_bound"]:
        why.append("too many points are near the teacher's boundary")
    else:
        if not why:
            why.append(f"the band of the sample is {number(band)} wide")
        why.append(f"without it {_points(better)} would do")
    if w["by_bound"] is None:
        return f"by the bound no number of points, as {'; '.join(why)}"
    return f"by the bound only the {w['by_bound']:,} that span all dimensions, as {'; '.join(why)}"


def _points(n: int) -> str:
    return f"{n:,} point{'s' * (n != 1)}"


def _dimensions(d: int) -> str:
    return f"{d:,} dimension{'s' * (d != 1)}"
