"""Claims about paths between students, and their controls."""

import xarray as xr

from relulab.lab.claim import Claim, claim
from relulab.lab.control import Control
from relulab.subjects.specialization.studies.statements import Statement, claimed

LOW = 0.01  # a loss below this share of the loss of the best constant output is low: 99% of the variance is explained
ZERO = 1e-20  # shares below this are rounding errors
RISE = "The loss of the students was subtracted after a first run: barely trained students have a high loss everywhere."
FIRST = "two of those six pairs had not recovered a node, and the loss on their paths was 4% and 36%"
SHARE = "as a share of the loss of the best constant output"


def claims_of(result: xr.Dataset) -> list[Claim]:
    """Judge the claims.

    Args:
        result: The result of the study.
    """
    wide = result.isel(case=(result.student >= 2 * result.teacher).values.nonzero()[0])
    claims = [
        claim(
            "SS.E.exact", "Between exact students, the loss on the path is zero up to rounding",
            result.exact_path.values, "<", ZERO, within=(0, float("inf")), check=True,
            statistic=f"largest loss on the path, {SHARE}",
        ),
        claim(
            "SS.E.exact-line", "Between exact students, the loss on the straight line is not low",
            result.exact_line.values, ">", LOW, within=(0, float("inf")),
            statistic=f"largest loss on the straight line, {SHARE}",
        ),
    ]  # fmt: skip
    return [*claims, *(_trained(wide) if wide.sizes["case"] else []), *_three(result)]


def _trained(wide: xr.Dataset) -> list[Claim]:
    """Judge the claims about students with at least twice as many nodes as their teacher."""
    note = "The paper has no numbers. The criterion, 1% of the variance, is that of the claims on pruning."
    path = wide.path.max("case", skipna=False)
    rise = (wide.line - wide.ends).min("case", skipna=False)  # students with a high loss show nothing
    return [
        claim(
            "SS.E.low", "The loss stays low on the path between trained students", path.values, "<", LOW, note,
            within=(0, float("inf")), statistic=f"largest loss on the path, {SHARE}, in the worst of all widths",
        ),
        claim(
            "SS.E.line", "The loss rises on the straight line between trained students", rise.values, ">",
            LOW, f"{note} {RISE}", within=(0, float("inf")),
            statistic=f"largest loss on the straight line minus that of the students, {SHARE}, in the best width",
        ),
    ]  # fmt: skip


def _three(result: xr.Dataset) -> list[Claim]:
    """Judge the claim about trained students with three nodes, if some pairs of them learned their teacher."""
    pairs = result.isel(case=((result.student == 3) & (result.teacher == 2)).values.nonzero()[0][0])
    learned = (pairs.recovered == 1).values
    note = f"About {learned.sum()} of {learned.size} pairs: in the others, a student did not recover a teacher node."
    note = f"{note} This condition was chosen after a first run, in which pairs with a loss below 1% counted; {FIRST}."
    if not learned.any():
        return []
    statement = Statement(
        "SS.E.three", "The same is true for trained students with three nodes and a teacher with two",
        pairs.path.values, "<", LOW, note, (0, float("inf")), f"largest loss on the path, {SHARE}", among=learned,
    )  # fmt: skip
    return claimed([statement], pairs.path.isnull().values)


def controls_of(result: xr.Dataset) -> list[Control]:
    """Return results on which the claims must not hold.

    Args:
        result: The result of the study.
    """
    return [
        Control(
            "paths on which random nodes do the work, instead of those that are missed most",
            ("SS.E.low", "SS.E.three"), result.assign(path=result.random_path),
        ),
        Control(
            "the straight line between a student and the same student after half of its training",
            ("SS.E.line",), result.assign(line=result.own_line, ends=result.own_ends),
        ),
        Control(
            "the straight line between two students that have the teacher's nodes in the same slots",
            ("SS.E.exact-line",), result.assign(exact_line=result.exact_own_line),
        ),
    ]  # fmt: skip
