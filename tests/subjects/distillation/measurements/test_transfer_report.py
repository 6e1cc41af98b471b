"""The transfer-risk report: compared with a naive version, and on special samples."""

import json
import math

import numpy as np
import pytest

from relulab import UserError
from relulab.subjects.distillation import (
    EstimatedAngles,
    from_labels,
    nested_students,
    sample_risks,
    samples_needed,
    transfer_bound,
)
from relulab.subjects.distillation.measurements.transfer_picture import picture
from relulab.subjects.distillation.measurements.transfer_report import arrays, transfer_report, transfer_rows
from relulab.subjects.distillation.measurements.transfer_words import answer, explanations, facts
from relulab.subjects.distillation.tools.angle_laws import Angular, PolynomialAngles
from relulab.subjects.distillation.tools.sample_span import usual_sizes


def sample(N=200, d=6, kappa=1.0, seed=0):
    task = Angular(d, PolynomialAngles(kappa))
    return task.draw(np.random.default_rng(seed), N), task.e1


def flat(rank=4, d=7, N=120, seed=1):
    """Points in a subspace, and a teacher that is not in it."""
    rng = np.random.default_rng(seed)
    return rng.standard_normal((N, rank)) @ rng.standard_normal((rank, d)), rng.standard_normal(d)


def naive(X, w, n, sets, rng):
    """Risks and ranks by loops over sets and points, the student by the pseudo-inverse."""
    order = rng.permutation(len(X))
    here = max(len(X) // 2, max(n))
    some, rest = X[order[:here]], X[order[here:]]
    risks, ranks = np.zeros((sets, len(n))), np.zeros((sets, len(n)))
    for s in range(sets):
        chosen = rng.permutation(here)[: max(n)]
        for j, k in enumerate(n):
            A = some[chosen[:k]]
            student = np.linalg.pinv(A, rcond=1e-9) @ (A @ w)
            wrong = 0
            for x in rest:
                signs = [float(v @ x) > -1e-9 for v in (student, w)]
                wrong += signs[0] != signs[1]
            risks[s, j], ranks[s, j] = wrong / len(rest), np.linalg.matrix_rank(A)
    return risks.mean(0), ranks.mean(0)


ONE_HOT = np.eye(4)[np.arange(60) % 4]


@pytest.mark.parametrize("X, w", [sample(80, 5), flat(3, 5, 80), (ONE_HOT, np.array([1, -2, 3, 4.0]))])
def test_risk_and_rank_agree_with_a_naive_version(X, w):
    n = [1, 2, 3, 5, 8]
    report = sample_risks(X, w, n, sets=12, rng=np.random.default_rng(5))
    risk, rank = naive(X, w, n, 12, np.random.default_rng(5))
    assert report.risk == pytest.approx(risk, abs=1e-12) and report.rank.tolist() == rank.tolist()
    assert risk[0] > 0 and ((report.low <= risk) & (risk <= report.high)).all()


def test_the_report_has_the_numbers_of_the_library():
    X, w = sample()
    report = transfer_report(X, w, [1, 3, 6], sets=20, confidence=0.9)
    law = EstimatedAngles.of(X, w, 0.9)
    cosine = np.abs(X @ w) / np.linalg.norm(X, axis=1)
    assert report.law.angles == pytest.approx(np.sort(np.arccos(cosine)), abs=1e-7) and report.general and report.d == 6
    for tight, bound in ((False, report.bound), (True, report.tight)):
        assert bound.value == pytest.approx(transfer_bound(law, [1, 3, 6], d=6, tight=tight).value, abs=1e-12)
    rows = transfer_rows(report, risk=0.3, tight=True)
    json.dumps(rows, allow_nan=False)
    assert [row["n"] for row in rows["rows"]] == [1, 3, 6] and rows["rows"][1]["bound"] == report.tight.value[1]
    assert rows["rows"][1]["loose_bound"] == report.bound.value[1] > report.tight.value[1]
    a = np.degrees(np.arccos(cosine))
    assert rows["angles"]["largest"] == pytest.approx(a.max())
    assert rows["angles"]["margin"] == pytest.approx(90 - a.max())
    assert rows["angles"]["quantiles"]["25%"] == pytest.approx(np.quantile(a, 0.25))
    assert rows["band"] == pytest.approx(math.sqrt(math.log(10) / 400)) and rows["kappa"] == pytest.approx(law.kappa)
    theta = np.linspace(0, np.pi / 2, 20_001)
    gap = np.abs((a[:, None] >= np.degrees(theta)).mean(0) - (1 - 2 * theta / np.pi) ** law.kappa).max()
    assert rows["kappa_gap"] == pytest.approx(gap, abs=1e-3)


def test_points_needed_for_a_risk():
    X, w = sample(3000, 40, kappa=4.0)
    report = transfer_report(X, w, [1, 2, 5, 10], sets=10)
    rows = transfer_rows(report, risk=0.1)["wanted"]
    assert rows["by_bound"] == samples_needed(report.law, 0.1, d=40) < 40 and not rows["only_by_rank"]
    above = [row for row in report.curve.n.tolist() if report.curve.high[report.curve.n == row] > 0.1]
    assert rows["by_measure"] == min({1, 2, 5, 10} - {*above})
    narrow = transfer_rows(report, risk=0.01)
    wanted = narrow["wanted"]
    assert wanted["by_bound"] == 40 and wanted["only_by_rank"] and report.law.band > 0.01
    N = wanted["sample_for_band"]
    assert math.sqrt(math.log(20) / (2 * N)) < 0.01 <= math.sqrt(math.log(20) / (2 * (N - 1)))
    M = wanted["count_for_measure"]
    assert 1 - 0.025 ** (1 / M) <= 0.01 < 1 - 0.025 ** (1 / (M - 1))
    assert [fact.text for fact in answer(narrow)][::2] == ["at most 0.01", "40, because they span all dimensions"]
    assert f"a sample of {N:,} points" in " ".join(explanations(narrow))
    assert all(len(fact.label) + len(fact.text) < 96 for fact in answer(narrow) + facts(narrow))


def test_points_in_a_subspace_use_the_projection():
    X, w = flat(4, 7)
    report = transfer_report(X, w, sets=10)
    P = np.linalg.pinv(X) @ X
    assert report.span.rank == report.d == 4 and report.span.settled and report.general
    assert report.span.outside == pytest.approx(np.linalg.norm(w - P @ w) / np.linalg.norm(w))
    direction = P @ w / np.linalg.norm(w)
    assert report.w.numpy() == pytest.approx(direction)
    assert (report.law.angles[-1], report.law.band) < (EstimatedAngles.of(X, w).angles[-1], 1)
    assert report.curve.n.tolist() == [1, 2, 4, 5, 7] and report.bound.value[2:].tolist() == [0, 0, 0]
    assert report.curve.risk[2:].tolist() == [0, 0, 0] and report.bound.value[1] > 0 < report.curve.risk[0]
    text = " ".join(explanations(transfer_rows(report, risk=0.1)))
    assert "span 4 of 7 dimensions" in text and "4 points that span it leave no risk" in text
    assert f"= {report.span.outside:.3g}" in text


def test_a_span_that_new_points_would_leave_is_not_used():
    rng = np.random.default_rng(0)
    X, w = rng.standard_normal((20, 50)), rng.standard_normal(50)
    report = transfer_report(X, w, sets=5)
    assert (report.span.rank, report.span.half, report.d) == (20, 10, 50) and report.curve.n.tolist() == [1, 2, 5]
    assert report.law.angles == pytest.approx(EstimatedAngles.of(X, w).angles, abs=1e-12)
    text = " ".join(explanations(transfer_rows(report, risk=0.1)))
    assert "Half of the points span only 10 dimensions" in text and "50 points that span all" in text


def test_the_bound_is_not_zero_for_points_that_are_often_dependent():
    X = np.eye(4)[np.random.default_rng(0).integers(0, 4, 100)]
    report = transfer_report(X, [1.0, 2.0, -3.0, 4.0], sets=30)
    assert not report.general and report.curve.n.tolist() == [1, 2, 4, 5, 8] and (report.curve.rank[1:] < 4).all()
    assert (report.bound.value > 0).all() and report.curve.risk[2] > 0
    rows = transfer_rows(report, risk=0.5)
    assert "linearly dependent" in " ".join(explanations(rows))
    assert transfer_rows(report, risk=0.01)["wanted"]["by_bound"] is None
    assert answer(transfer_rows(report, risk=0.01))[2].text == "no number of points is enough"


@pytest.mark.parametrize("X, w, d", [
    (np.tile([[1.0, 2.0, 3.0]], (20, 1)), [1.0, 1.0, 0.0], 1), (np.arange(1.0, 21)[:, None], [-2.0], 1),
    (np.column_stack([np.ones(30), np.random.default_rng(0).standard_normal((30, 2))]), [1.0, 2.0, 3.0], 3),
])  # fmt: skip
def test_equal_rows_one_column_and_a_constant_column(X, w, d):
    report = transfer_report(X, w, sets=5)
    rows = transfer_rows(report, risk=0.05)
    assert report.d == d and report.bound.value[-1] == report.curve.risk[-1] == 0
    assert (rows["kappa"] is None) == (d == 1) and explanations(rows) and answer(rows)
    assert picture(report).axes


def test_points_on_the_boundary_are_not_counted_as_errors():
    """Integer points with w*ᵀx = 0: a student that is w* but for rounding answers them as w* does."""
    X = np.array([[a, b, c] for a in range(-3, 4) for b in range(-3, 4) for c in (1, 2, 3)], dtype=float)
    w = np.array([1.0, -1.0, 0.0])
    assert (X @ w == 0).sum() == 21
    curve = sample_risks(X, w, [40], sets=40, rng=np.random.default_rng(0))
    assert curve.rank[0] == 3 and curve.risk[0] == 0


@pytest.mark.parametrize("scale", [1e200, 1e-200])
def test_sizes_do_not_matter(scale):
    X, w = sample(60, 4)
    plain = transfer_report(X, w, sets=5)
    for one in (transfer_report(scale * X, w, sets=5), transfer_report(X, scale * w, sets=5)):
        assert one.curve.risk.tolist() == plain.curve.risk.tolist()
        assert one.bound.value == pytest.approx(plain.bound.value) and one.law.angles == pytest.approx(plain.law.angles)


def test_blocks_of_dependent_points_give_an_orthonormal_basis():
    """As a student of many points with repeats and nearly dependent ones needs it."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((150, 70))
    X[20:60] = X[:40] + 1e-8 * rng.standard_normal((40, 70))
    X[70:110] = X[:40] @ np.diag(np.ones(70)) * 3
    report = nested_students(X, np.ones(70))
    Q = report.Q.numpy()[report.new.numpy()]
    assert np.abs(Q @ Q.T - np.eye(len(Q))).max() < 1e-13 and len(Q) == 70
    assert not report.new[70:110].any() and report.students()[-1].numpy() == pytest.approx(np.ones(70))
    for k in (1, 25, 90):
        student = report.students()[k - 1].numpy()
        assert X @ student == pytest.approx(X @ np.linalg.pinv(X[:k]) @ X[:k] @ np.ones(70), abs=1e-4)


def test_rounded_labels_determine_the_teacher():
    rng = np.random.default_rng(0)
    X, w = rng.standard_normal((100, 5)), 0.7 * rng.standard_normal(5)
    y = 1 / (1 + np.exp(-X @ w))
    for given, error in ((y, 1e-12), (y.astype(np.float32), 1e-6), (y.round(6), 1e-4), (y.round(4), 1e-2)):
        assert from_labels(X, given).w_star.numpy() == pytest.approx(w, rel=error, abs=error)
    bent = 1 / (1 + np.exp(-X @ w - 0.01 * X[:, 0] ** 2))
    for given in (bent, bent.astype(np.float32), bent.round(6)):
        with pytest.raises(UserError, match="no linear teacher gives these labels"):
            from_labels(X, given)
    for scale in (1e200, 1e-200):
        assert from_labels(scale * X, y).w_star.numpy() * scale == pytest.approx(w)


def test_invalid_input_is_rejected():
    X, w = sample(20, 3)
    for X_, w_, options, says in (
        (X[:2], w, {}, "expected at least 3 points, got 2"), (X[:1], w, {}, "expected at least 3 points, got 1"),
        (X * [1, 1, 0], [0, 0, 1.0], {}, "orthogonal to every point"),
        (np.vstack([X, 0 * X[:1]]), w, {}, "1 of 21 points are zero and .* row 20"),
        (X, w, {"confidence": 1.0}, "got 1.0"), (X, w, {"n": [19]}, "at most 18"), (X, 0 * w, {}, "is zero"),
    ):  # fmt: skip
        with pytest.raises(UserError, match=says):
            transfer_report(X_, w_, **options)


def test_arrays_and_pictures():
    X, w = sample(100, 5)
    report = transfer_report(X, w, [1, 4, 9], sets=5)
    kept = arrays(report)
    assert np.sort(kept["angles"]).tolist() == report.law.angles.tolist() and kept["angles"][0] != kept["angles"].min()
    assert kept["n"].tolist() == [1, 4, 9] and kept["tight_bound"].tolist() == report.tight.value.tolist()
    left, right = picture(report).axes
    lines = {line.get_label(): line for line in right.get_lines()}
    assert {"bound", "tight bound", "no errors: upper limit"} <= {*lines} and right.get_yscale() == "log"
    assert lines["no errors: upper limit"].get_ydata().tolist() == report.curve.high[report.curve.risk == 0].tolist()
    x, y = lines["bound"].get_data()
    assert x.tolist() == [1, 2, 3, 4, 5, 5] and y[-1] < right.get_ylim()[0], "it drops to 0 at d"
    assert y[:4] == pytest.approx(transfer_bound(report.law, [1, 2, 3, 4]).value)
    assert left.get_legend_handles_labels()[1][-1].startswith("fitted")


def test_usual_sizes():
    assert usual_sizes(2000, 784, 700)[-3:] == [500, 700, 784] and usual_sizes(3, 5) == [1]
    assert usual_sizes(1000, 1) == [1] and usual_sizes(500, 100) == [1, 2, 5, 10, 20, 50, 100]
