"""What a report on transfer risk means, in sentences, from the numbers of its document."""

from relulab.lab.show.words import number


def sentences(rows: dict) -> list[str]:
    """What was given, and what the angles of its points are like."""
    return [*_span(rows), *_angles(rows)]


def _span(rows: dict) -> list[str]:
    N, d, r, half = rows["points"], rows["dimensions"], rows["rank"], rows["rank_of_half"]
    said = []
    if r == d:
        what = f"their {_dimensions(d)}" if d == 1 else f"all {_dimensions(d)}"
        said.append(f"The {N:,} points span {what}: {_points(d)} that span{'s' * (d == 1)} as much leave no risk.")
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
                f"A half of them spans {half} only, so further points will lead out of that span: it takes {d:,} that "
                "span all dimensions to leave no risk. Angles and bound are those of the teacher itself."
            )
    share = rows["positive"]
    mixed = f"1 to {share:.1%} of them"
    what = f"{share:.0f} to all of them, so students have little to get wrong" if share in (0, 1) else mixed
    said.append(f"The teacher answers {what}.")
    if rows["sure"]:
        said.append(
            f"Of its soft labels {rows['sure']:.1%} are 0 or 1 in single precision (logits beyond 16.7): a student "
            "trained on labels so rounded does not come to the limit of training that is measured here; divide points "
            "or teacher by a number, which changes no answer."
        )
    if not rows["general_position"]:
        said.append(
            "Sets of these points are often linearly dependent, as the ranks below tell. Points with a density, of "
            "which T5 speaks, are not; here as many points as dimensions may leave a risk, and the bound is not 0."
        )
    return said


def _angles(rows: dict) -> list[str]:
    angles, kappa = rows["angles"], rows["kappa"]
    shares = ", ".join(f"{share} are within {a:.1f}°" for share, a in angles["quantiles"].items())
    margin = angles["margin"]
    said = [
        f"Of their angles to the teacher {shares}; the largest is {angles['largest']:.2f}°, so "
        + (f"all points are {margin:.2g}° or more off its boundary." if margin > 0 else "a point lies on its boundary.")
    ]
    if kappa is None:
        said.append("All angles are 0: every point lies along the teacher, and any one of them tells all.")
    elif kappa > 0:
        said.append(
            f"The law p(θ) = (1 − 2θ/π)^κ of T5 corollary 5.2 suits them best with κ = {number(kappa)}, and is off by "
            f"up to {number(rows['kappa_gap'])}; the larger κ is, the fewer points do."
        )
    said.append(
        f"With confidence {rows['confidence']:g} p(θ), the probability of an angle of θ or more, is nowhere more than "
        f"{number(rows['band'])} above the share in this sample (its band), which the bound takes for p."
    )
    return said


def answer(rows: dict) -> str:
    """How many points do for the wanted risk."""
    w = rows["wanted"]
    measured = [row for row in rows["rows"] if row["n"] == w["by_measure"]]
    if measured:
        fewer = [row for row in rows["rows"] if row["n"] < w["by_measure"]]
        tried = f"; {_points(fewer[-1]['n'])} would not do" if fewer else ""
        by_measure = (
            f"{_points(w['by_measure'])} by the measured curve, the least of the numbers tried (upper limit "
            f"{number(measured[0]['high'])}{tried})"
        )
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
    band = f"the band of the sample is {number(rows['band'])} wide"
    why = []
    if rows["band"] >= w["risk"]:
        why.append(f"{band} (one narrower than {w['risk']:g} takes a sample of {w['sample_for_band']:,} points)")
    if w["never"]:
        least = rows["angles"]["least"]
        why.append(
            f"the point nearest to the teacher's direction is {least:.3g}° off it, which says nothing of points that "
            f"are {90 - least:.3g}° or more off, {w['unreached']:.1%} of them"
        )
    else:
        do = "would do" if w["by_bound_without_band"] != w["by_bound"] else "would do without counting on that"
        why = [f"{why[0] if why else band}, without which {_points(w['by_bound_without_band'])} {do}"]
    if w["by_bound"] is None:
        return f"no number of points by the bound, as {' and '.join(why)}"
    if w["by_bound"] == 1:
        return "1 point by the bound, as it spans all there is"
    return f"{_points(w['by_bound'])} by the bound, as they span all dimensions (no fewer, as {' and '.join(why)})"


def _points(n: int) -> str:
    return f"{n:,} point{'s' * (n != 1)}"


def _dimensions(d: int) -> str:
    return f"{d:,} dimension{'s' * (d != 1)}"
