"""measure transfer-risk: the numbers of the library, the explanations, and errors in one line."""

import json

import numpy as np
import pandas as pd
import pytest

from relulab.subjects.distillation.measurements.transfer_report import transfer_report

RNG = np.random.default_rng(0)
X, W = RNG.standard_normal((60, 4)), np.array([1.0, 2.0, -1.0, 0.5])
SOFT = 1 / (1 + np.exp(-X @ W))
BASE = ("measure", "transfer-risk")


@pytest.fixture
def files(tmp_path):
    np.save(tmp_path / "X.npy", X)
    np.save(tmp_path / "w.npy", W)
    pd.DataFrame(X, columns=list("abcd")).assign(p=SOFT).to_csv(tmp_path / "soft.csv", index=False)
    return tmp_path


def flat(text: str) -> str:
    return " ".join(text.split())


def test_as_json_and_as_files(files, here):
    words = (*BASE, "X.npy", "--teacher", "w.npy", "--n", "5,1,3,1", "--sets", "20", "--seed", "7", "--risk", "0.4")
    code, out, err = here(*words, "--json", "--out", "curve.npz")
    document = json.loads(out)
    report = transfer_report(X, W, [1, 3, 5], sets=20, seed=7)
    assert code == 0 and not err and document["out"] == "curve.npz" and document["label"] is None
    for name in ("risk", "low", "high", "rank"):
        assert [row[name] for row in document["rows"]] == getattr(report.curve, name).tolist()
    assert [row["bound"] for row in document["rows"]] == report.bound.value.tolist() and not document["bias"]
    assert document["wanted"]["risk"] == 0.4 and document["rank"] == document["dimensions"] == 4
    with np.load(files / "curve.npz") as kept:
        assert kept["risk"].tolist() == report.curve.risk.tolist() and kept["angles"].shape == (60,)
        assert kept["w"] == pytest.approx(W / np.linalg.norm(W))
    tight = json.loads(here(*words, "--json", "--tight")[1])
    assert [row["bound"] for row in tight["rows"]] == report.tight.value.tolist()
    other = json.loads(here(*words[:-4], "--seed", "8", "--json")[1])
    assert [row["risk"] for row in other["rows"]] != [row["risk"] for row in document["rows"]]


def test_in_plain_text(files, here):
    code, out, err = here(*BASE, "X.npy", "--teacher", "w.npy", "--sets", "10")
    report = transfer_report(X, W, sets=10)
    out = flat(out)
    assert code == 0 and not err and report.curve.n.tolist() == [1, 2, 4]
    assert "The points span all 4 dimensions" in out and "says nothing" in out and "--out FILE.npz" in out
    assert f"{report.law.kappa:.3g} (largest gap" in out and f"{report.law.band:.3g} at confidence 0.95" in out
    assert f"{report.curve.risk[0]:.3g} [{report.curve.low[0]:.3g}, {report.curve.high[0]:.3g}]" in out
    assert "at most 0.05" in out and "takes at least 72" in out
    assert "4, because they span all dimensions" in out


def test_soft_labels_instead_of_weights(files, here):
    by_weights = json.loads(here(*BASE, "X.npy", "--teacher", "w.npy", "--sets", "10", "--json")[1])
    code, out, _ = here(*BASE, "soft.csv", "--label", "p", "--sets", "10", "--json")
    assert code == 0 and json.loads(out)["rows"] == [pytest.approx(row) for row in by_weights["rows"]]
    np.savez(files / "few.npz", X=X[:4], p=SOFT[:4])
    out = flat(here(*BASE, "few.npz", "--label", "p", "--sets", "5")[1])
    assert "The teacher is the shortest weight vector that gives the soft labels p." in out
    assert "any labels have a linear teacher" in out


def test_a_bias_is_a_column_of_ones(files, here):
    np.savez(files / "b.npz", weight=W[None], bias=np.array([0.3]))
    document = json.loads(here(*BASE, "X.npy", "--teacher", "b.npz", "--sets", "10", "--json")[1])
    report = transfer_report(np.column_stack([X, np.ones(60)]), np.append(W, 0.3), sets=10)
    assert document["bias"] and document["dimensions"] == 5
    assert [row["risk"] for row in document["rows"]] == report.curve.risk.tolist()
    assert "column of ones" in flat(here(*BASE, "X.npy", "--teacher", "b.npz", "--sets", "10")[1])
    np.savez(files / "soft.npz", X=X, p=1 / (1 + np.exp(-X @ W - 0.3)))  # a bias is also detected in soft labels
    from_labels = json.loads(here(*BASE, "soft.npz", "--label", "p", "--sets", "10", "--json")[1])
    assert from_labels["bias"] and from_labels["rows"] == [pytest.approx(row) for row in document["rows"]]


def test_theorems_on_points_and_a_teacher(files, here):
    documents = []
    for words in (("--data", "X.npy", "--teacher", "w.npy"), ("--data", "soft.csv", "--label", "p")):
        code, out, _ = here("check", "T5.L1", *words, "--set", "orders=3", "--json")
        documents.append(json.loads(out))
        assert code == 0 and documents[-1]["verdict"] == "HOLDS"
    assert documents[0]["conclusion"][0]["measured"] == pytest.approx(
        documents[1]["conclusion"][0]["measured"], abs=1e-7
    )
    code, out, _ = here("check", "T5.C1", "--data", "X.npy", "--teacher", "w.npy", "--json")
    assert code == 1 and json.loads(out)["verdict"] in ("INCONCLUSIVE", "NOT_APPLICABLE")
    for words, sentence in (
        (("--data", "X.npy"), "expected either --teacher or --label, got neither"),
        (
            ("--data", "soft.csv", "--label", "p", "--teacher", "w.npy"),
            "expected either --teacher or --label, got both",
        ),
        (("--data", "X.npy", "--teacher", "w.npy", "--student", "w.npy"), "leave out --student"),
        (("--data", "X.npy", "--teacher", "w.npy", "--slope", "0.1"), "leave out --slope"),
    ):
        code, _, err = here("check", "T5.L1", *words)
        assert code == 2 and sentence in flat(err)


def test_the_answer_comes_first_and_the_teachers_answers_are_described(files, here):
    out = flat(here(*BASE, "X.npy", "--teacher", "w.npy", "--sets", "10")[1])
    share = (X @ W >= 0).mean()
    assert out.find("wanted risk") < out.find("points needed, measured") < out.find("rank") and "wanted risk" in out
    assert f"1 for {share:.1%} of the points" in out
    np.save(files / "loud.npy", 1000 * W)
    assert "are 0 or 1 in single precision" in flat(here(*BASE, "X.npy", "--teacher", "loud.npy", "--sets", "5")[1])
    np.save(files / "positive.npy", np.abs(X))
    np.save(files / "ones.npy", np.ones(4))
    out = flat(here(*BASE, "positive.npy", "--teacher", "ones.npy", "--sets", "5")[1])
    assert "1 for all points" in out and "the same answer" in out


def test_a_lower_rank_is_handled_and_reported(files, here):
    np.save(files / "flat.npy", X * [1, 1, 1, 0])
    code, out, err = here(*BASE, "flat.npy", "--teacher", "w.npy", "--sets", "10")
    assert (
        code == 0
        and not err
        and "span 3 of 4 dimensions" in flat(out)
        and "3 points that span it leave no risk" in flat(out)
    )
    assert f"‖w* − P w*‖/‖w*‖ = {0.5 / np.linalg.norm(W):.3g}." in flat(out)


def test_numbers_are_cut_to_what_the_file_allows(files, here):
    code, out, _ = here(*BASE, "X.npy", "--teacher", "w.npy", "--sets", "5", "--n", f"2,58,59,{10**30}")
    assert code == 0 and f"Left out: n = 59, {10**30}. At least 2 of the 60 points must remain" in flat(out)
    np.save(files / "few.npy", X[:6])
    code, out, _ = here(*BASE, "few.npy", "--teacher", "w.npy", "--sets", "5")
    assert code == 0 and "The largest n is 1, a quarter of the points" in flat(out)


@pytest.mark.parametrize("ending, start", [("png", b"\x89PNG"), ("svg", b"<?xml"), ("pdf", b"%PDF")])
def test_pictures(files, here, ending, start):
    code, out, err = here(*BASE, "X.npy", "--teacher", "w.npy", "--sets", "5", "--figure", f"x.{ending}")
    assert code == 0 and not err and f"x.{ending}" in out and (files / f"x.{ending}").read_bytes().startswith(start)


ODD = {
    "huge": X * 1e200, "tiny": X * 1e-200, "both": X * np.where(np.arange(60) % 2, 1e200, 1e-200)[:, None],
    "constant": X * [1, 1, 0, 1] + [0, 0, 3, 0], "equal": np.tile(X[:1], (60, 1)),
}  # fmt: skip


@pytest.mark.parametrize("name", ODD)
def test_odd_points_that_are_fine(files, here, name):
    np.save(files / "odd.npy", ODD[name])
    code, out, err = here(*BASE, "odd.npy", "--teacher", "w.npy", "--sets", "5", "--json")
    document = json.loads(out)
    assert code == 0 and not err and document["rows"][-1]["bound"] == document["rows"][-1]["risk"] == 0
    assert document["rank"] == (1 if name == "equal" else 4)


def test_one_dimension(files, here):
    np.save(files / "line.npy", X[:, :1])
    np.save(files / "v.npy", W[:1])
    code, out, err = here(*BASE, "line.npy", "--teacher", "v.npy", "--sets", "5")
    assert code == 0 and not err and "1, because it spans all dimensions" in flat(out)
    assert "All angles are 0" in out


def one_line(answer, says: str) -> None:
    code, out, err = answer
    assert code == 2 and not out and err.count("\n") == 1 and says in err, answer


TEACHERS = {
    "zero": (0 * W, "the teacher is zero"), "short": (W[:3], "or 5 including the bias, got 3"),
    "long": (np.ones(6), "or 5 including the bias, got 6"), "two": (np.ones((2, 4)), "weights of shape (2, 4)"),
    "nan": (W * np.nan, "NaN or infinite"), "missing": (None, "No such file"),
}  # fmt: skip


@pytest.mark.parametrize("name", TEACHERS)
def test_teachers_that_are_rejected(files, here, name):
    w, says = TEACHERS[name]
    if w is not None:
        np.save(files / "t.npy", w)
    one_line(here(*BASE, "X.npy", "--teacher", "t.npy"), says)


POINTS = {
    "one": (X[:1], "expected at least 3 points, got 1"), "none": (X[:0], "no points"),
    "nan": (X * np.nan, "missing values (NaN)"),
    "zero": (X * (np.arange(60) != 7)[:, None], "1 of 60 points are zero and have no angle"),
    "across": (X - np.outer(X @ W, W) / (W @ W), "orthogonal to every point"),
}  # fmt: skip


@pytest.mark.parametrize("name", POINTS)
def test_points_that_are_rejected(files, here, name):
    points, says = POINTS[name]
    np.save(files / "p.npy", points)
    one_line(here(*BASE, "p.npy", "--teacher", "w.npy"), says)


def test_files_that_are_rejected(files, here):
    (files / "empty.npy").touch()
    (files / "text.csv").write_text("a,b,c,d\n1,2,3,red\n1,2,3,4\n")
    one_line(here(*BASE, "empty.npy", "--teacher", "w.npy"), "is empty")
    one_line(here(*BASE, "missing.npy", "--teacher", "w.npy"), "No such file")
    one_line(here(*BASE, "text.csv", "--teacher", "w.npy"), "expected numbers in column 'd', got 'red' in row 0")


LABELS = {
    "hard": (np.round(SOFT), "labels are outside (0, 1)"), "wide": (SOFT * 2, "labels are outside (0, 1)"),
    "bent": (SOFT**2, "no linear teacher gives these labels"), "half": (0 * SOFT + 0.5, "the teacher is zero"),
    "words": (np.full(60, "yes"), "expected soft labels between 0 and 1 in p, got text"),
    "nan": (SOFT * np.nan, "'p' has missing values (NaN)"),
}  # fmt: skip


@pytest.mark.parametrize("name", LABELS)
def test_labels_that_are_rejected(files, here, name):
    p, says = LABELS[name]
    np.savez(files / "l.npz", X=X, p=p)
    one_line(here(*BASE, "l.npz", "--label", "p"), says)


def test_other_wrong_arguments_raise_one_sentence(files, here):
    one_line(here(*BASE, "X.npy"), "expected either --teacher or --label, got neither")
    one_line(
        here(*BASE, "soft.csv", "--teacher", "w.npy", "--label", "p"), "expected either --teacher or --label, got both"
    )
    one_line(here(*BASE, "soft.csv", "--label", "q"), "no column 'q' (--label)")
    words = (*BASE, "X.npy", "--teacher", "w.npy")
    for n in ("0", "-1", "1,,2", "many", "", "1.5", "1e3", "3,0"):
        one_line(here(*words, f"--n={n}"), "expected positive integers separated by commas")
    one_line(here(*words, "--n", "59,70"), "use at most 58")
    for risk in ("0", "-0.1", "1.01", "nan", "inf"):
        one_line(
            here(*words, f"--risk={risk}"), f"--risk: expected a {'finite' if risk in ('nan', 'inf') else 'value'}"
        )
    for confidence in ("0", "0.4", "1", "-1"):
        one_line(here(*words, f"--confidence={confidence}"), "from 0.5 to below 1")
    one_line(here(*words, "--confidence=nan"), "expected a finite number")
    for sets in ("1", "0", "-5", "1000001"):
        one_line(here(*words, f"--sets={sets}"), "--sets: expected a value")
    one_line(here(*words, "--seed=-1"), "expected seeds from 0 to")
    one_line(here(*words, "--out", "x.csv"), "cannot write x.csv: expected a file name that ends in .npz")
    one_line(here(*words, "--figure", "nowhere/x.png"), "the folder nowhere does not exist")
