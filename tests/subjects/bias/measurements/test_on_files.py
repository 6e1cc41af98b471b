"""measure separability and measure max-margin: the library's numbers, what they mean, mistakes in one line."""

import json

import numpy as np
import pytest
import torch
from torch import nn

from relulab import MLP, save, torch_default
from relulab.io.tables import read_table
from relulab.subjects.bias import max_margin, separability
from relulab.subjects.bias.tools.features import feature_separability
from relulab.subjects.bias.tools.orthants import OppositeOrthants, SpanningSupports


@pytest.fixture
def files(tmp_path):
    """Separable data with spanning supports, the paper's without, and data that are not separable."""
    for name, kind in (("spans", SpanningSupports(4)), ("paper", OppositeOrthants(4))):
        data = kind.draw(np.random.default_rng(0), 60)
        np.savez(tmp_path / f"{name}.npz", X=data.X.numpy(), y=data.y.numpy())
    rng = np.random.default_rng(1)
    X = rng.standard_normal((40, 4))
    X[:, 0] = 3 * np.abs(X[:, 0]) * np.where(np.arange(40) % 2, 1, -1)
    rows = [",".join(map(repr, x)) + (",yes" if x[0] > 0 else ",no") for x in X.tolist()]
    (tmp_path / "mixed.csv").write_text("a,b,c,d,kind\n" + "\n".join(rows) + "\n")
    save(torch_default((4, 6, 5, 1), seeds=[0]), tmp_path / "net.safetensors")
    return tmp_path


def flat(text: str) -> str:
    return " ".join(text.split())


def test_separability_as_json(files, here):
    code, out, err = here("measure", "separability", "mixed.csv", "--json", "--pairs", "4")
    document = json.loads(out)
    data = read_table(files / "mixed.csv")
    found = separability(data.X, data.y, pairs=4)
    (row,) = document["layers"]
    assert code == 0 and not err and document["labels"] == {"-": "no", "+": "yes"} and not row["separable"]
    assert (row["equal"]["pairs"], row["equal"]["broken"]) == found.equal[:2] and row["equal"]["broken"] > 0
    assert (row["different"]["pairs"], row["different"]["broken"]) == found.different[:2]
    assert row["worst"] == [pair._asdict() for pair in found.worst] and len(row["worst"]) == 4
    assert row["equal"]["least_inner"] == found.equal.inner._asdict() and row["kept"] == len(found.kept)
    assert row["different"]["greatest_cosine"] == found.different.cosine._asdict()


def test_separability_in_words(files, here):
    code, out, err = here("measure", "separability", "spans.npz", "--label", "y")
    assert code == 0 and not err and "orthogonally separable yes" in flat(out)
    assert "relulab measure max-margin spans.npz --label y" in flat(out)
    code, out, _ = here("measure", "separability", "mixed.csv", "--pairs", "3")
    found = separability(*read_table(files / "mixed.csv")[:2], pairs=3)
    assert code == 0 and "orthogonally separable no" in flat(out) and "does not apply" in flat(out)
    assert f"{len(found.kept)} of 40 points" in flat(out) and "Label yes is +1" in out
    assert all(f"{pair.cosine:.4f}" in out for pair in found.worst)
    rows = [line.split() for line in out.splitlines()]
    assert sum(len(row) == 5 and row[-1] in ("different", "equal") for row in rows) == 3
    assert f"{found.equal.broken:,} of {found.equal.count:,} pairs have an inner product ≤ 0" in flat(out)
    assert f"{found.different.broken:,} of {found.different.count:,} pairs have an inner product > 0" in flat(out)


def test_separability_of_features(files, here):
    words = ("measure", "separability", "mixed.csv", "--network", "net.safetensors")
    document = json.loads(here(*words, "--json")[1])
    from relulab import load

    data = read_table(files / "mixed.csv")
    found = feature_separability(load(files / "net.safetensors").double(), data.X, data.y)
    assert [row["layer"] for row in document["layers"]] == list(found) == ["input", "1", "2"]
    for row, one in zip(document["layers"], found.values(), strict=True):
        assert (row["equal"]["broken"], row["different"]["broken"]) == (one.equal.broken, one.different.broken)
    leaky = json.loads(here(*words, "--json", "--slope", "0.3")[1])
    assert leaky["layers"][1]["violation"] != document["layers"][1]["violation"]
    out = flat(here(*words)[1])
    assert "Features of layer 2" in out


def test_features_of_pictures(files, here):
    net = nn.Sequential(nn.Conv2d(1, 2, 2), nn.ReLU(), nn.Flatten(), nn.Linear(2, 1))
    shapes = ({0: torch.export.Dim.AUTO},)
    torch.export.save(torch.export.export(net, (torch.randn(5, 1, 2, 2),), dynamic_shapes=shapes), "conv.pt2")
    words = ("measure", "separability", "mixed.csv", "--network", "conv.pt2", "--json")
    document = json.loads(here(*words, "--shape", "1,2,2")[1])
    assert [row["columns"] for row in document["layers"]] == [4, 2]
    one_line(here(*words), "images of shape (1, 2, 2), but the rows have 4 numbers: add --shape 1,2,2")
    np.savez("wide.npz", X=np.eye(9), y=np.arange(9) % 2)
    words = ("measure", "separability", "wide.npz", "--network", "conv.pt2", "--json")
    one_line(here(*words), "(1, 2, 2), but the rows have 9 numbers, not 4")
    words = ("measure", "separability", "mixed.csv", "--network", "conv.pt2", "--json")
    for shape in ("1,3,3", "a", ""):
        one_line(here(*words, "--shape", shape), "rows of 4 numbers")


def test_separability_keeps_rows_and_pairs(files, here):
    code, out, _ = here(
        "measure", "separability", "mixed.csv", "-n", "net.safetensors", "-o", "found.npz", "--pairs", "5"
    )
    assert code == 0 and "found.npz" in out
    data = read_table(files / "mixed.csv")
    with np.load(files / "found.npz") as kept:
        found = separability(data.X, data.y, pairs=5)
        assert kept["input.kept"].tolist() == found.kept.tolist() and "2.kept" in kept
        assert kept["input.pairs"].tolist() == [list(pair[:2]) for pair in found.worst]
        assert kept["input.cosine"].tolist() == [pair.cosine for pair in found.worst]
        some = kept["input.kept"]
        assert separability(data.X[some], data.y[some]).holds
    here("measure", "separability", "spans.npz", "-o", "found.npz")
    with np.load(files / "found.npz") as kept:
        assert kept["input.pairs"].shape == (0, 2) and len(kept["input.kept"]) == 60


@pytest.mark.parametrize("ending, start", [("png", b"\x89PNG"), ("svg", b"<?xml"), ("pdf", b"%PDF")])
def test_pictures(files, here, ending, start):
    for words in (("separability", "mixed.csv", "-n", "net.safetensors"), ("max-margin", "spans.npz")):
        code, out, err = here("measure", *words, "--figure", f"{words[0]}.{ending}")
        assert code == 0 and not err and f"{words[0]}.{ending}" in out
        assert (files / f"{words[0]}.{ending}").read_bytes().startswith(start)


def test_max_margin_as_json_and_as_a_file(files, here):
    code, out, err = here("measure", "max-margin", "spans.npz", "--json", "--out", "w.npz")
    document = json.loads(out)
    data = read_table(files / "spans.npz")
    found = max_margin(data.X, data.y)
    assert code == 0 and not err and document["applies"] is document["separable"] is True and document["out"] == "w.npz"
    for side, name in zip(found, ("positive", "negative"), strict=True):
        row = document[name]
        assert row["w"] == side.w.tolist() and row["supports"] == side.supports.tolist() and row["spans"] is True
        assert row["rank"] == 4 and row["margin"] == side.margin and row["residual"] < 1e-12
        assert row["multipliers"] == side.multipliers[side.supports].tolist()
    cosine = torch.nn.functional.cosine_similarity(found.positive.w, found.negative.w, dim=0)
    assert document["cosine"] == pytest.approx(float(cosine))
    with np.load(files / "w.npz") as kept:
        assert kept["w_plus"].tolist() == found.positive.w.tolist()
        assert kept["w_minus"].tolist() == found.negative.w.tolist()
        for sign, label, w in ((1, "plus", "w_plus"), (-1, "minus", "w_minus")):
            alpha = np.where(data.y == sign, kept["multipliers"], 0)
            assert alpha @ data.X.numpy() == pytest.approx(kept[w]) and set(np.flatnonzero(alpha)) <= {
                *kept[f"supports_{label}"].tolist()
            }


def test_max_margin_says_whether_the_theorem_applies(files, here):
    code, out, err = here("measure", "max-margin", "spans.npz")
    assert code == 0 and not err and "IB theorem 1 applies yes" in flat(out) and "4 of 4" in out and "w₊" in out
    code, out, _ = here("measure", "max-margin", "paper.npz")
    data = read_table(files / "paper.npz")
    rank = max_margin(data.X, data.y).positive.rank
    assert code == 0 and "IB theorem 1 applies no" in flat(out) and "is not proved" in flat(out) and rank < 4
    assert f"span of positive support examples {rank} of 4 dimensions" in flat(out)
    code, out, _ = here("measure", "max-margin", "mixed.csv", "--label", "kind")
    assert code == 0 and "applies no orthogonally separable no (" in flat(out)


def one_line(answer, says: str) -> None:
    code, out, err = answer
    assert code == 2 and not out and err.count("\n") == 1 and says in err, answer


BAD = {
    "one.csv": ("a,b,y\n1,2,1\n2,1,1\n", "all 2 points have the label 1"),
    "three.csv": (
        "a,b,y\n1,2,1\n2,1,2\n2,2,3\n",
        "got 3 different labels (1, 2, 3): keep two of them with --classes 1,2",
    ),
    "nan.csv": (
        "a,b,y\n1,2,1\n2,nan,0\n",
        "missing values in 1 of 2 rows, first in row 1 (counting from 0): fill them in, or add --drop-missing",
    ),
    "inf.csv": ("a,b,y\n1,2,1\n2,inf,0\n", "infinite values in 1 of 2 rows"),
    "flat.csv": ("a,y\n1,1\n2,0\n", "got d = 1"),
    "twins.csv": ("a,b,y\n1,2,1\n1,2,0\n", "the same point with different labels"),
    "empty.csv": ("", "is empty"),
    "missing.csv": (None, "No such file"),
    "x.xlsx": ("1,2\n", "file, or an idx file, got x.xlsx"),
}


@pytest.mark.parametrize("name", BAD)
@pytest.mark.parametrize("verb", ["separability", "max-margin"])
def test_files_that_are_refused(here, tmp_path, verb, name):
    text, says = BAD[name]
    if text is not None:
        (tmp_path / name).write_text(text)
    one_line(here("measure", verb, name), says)


def test_other_mistakes_are_sentences(files, here):
    (files / "zero.csv").write_text("a,b,y\n1,2,1\n0,0,1\n-1,-1,0\n")
    one_line(here("measure", "max-margin", "zero.csv"), "row 1, with label +1, is the zero point")
    (files / "around.csv").write_text("a,b,y\n1,2,1\n-1,-2,1\n-1,-1,0\n")
    one_line(here("measure", "max-margin", "around.csv"), "the 2 points with label +1 have no max-margin vector")
    (files / "huge.csv").write_text("a,b,y\n1,2,1\n3e200,4e200,1\n-1,-1,0\n")
    one_line(
        here("measure", "max-margin", "huge.csv"), "expected norms from 1e-140 to 1e140, but row 1 has norm 5e+200"
    )
    one_line(here("measure", "separability", "huge.csv"), "expected entries up to 1e150, got 4e+200")
    one_line(here("measure", "max-margin", "mixed.csv", "--label", "knd"), "did you mean 'kind'?")
    one_line(here("measure", "max-margin", "spans.npz", "-o", "w.csv"), "expected a file name that ends in .npz")
    one_line(
        here("measure", "separability", "spans.npz", "--figure", "nowhere/x.png"), "the folder nowhere does not exist"
    )
    one_line(here("measure", "separability", "spans.npz", "-n", "missing.pt"), "missing.pt")
    save(MLP((3, 2, 1)), files / "narrow.safetensors")
    one_line(here("measure", "separability", "spans.npz", "-n", "narrow.safetensors"), "a network with 3 inputs")
    one_line(
        here("measure", "separability", "spans.npz", "--pairs", "-1"),
        "--pairs: expected a value greater than or equal to 0, got -1",
    )


def test_both_are_listed_by_their_items(here):
    rows = {row["name"]: row for row in json.loads(here("list", "--json")[1]) if row["kind"] == "instrument"}
    assert rows["separability"]["ids"] == ["IB.D"] and rows["max_margin"]["ids"] == ["IB.MM"]


def test_two_neurons_of_a_network(files, here):
    from relulab import load
    from relulab.data.labeled import labeled
    from relulab.subjects.bias import two_neurons

    save(torch_default((4, 6, 1), seeds=[0]), files / "two.safetensors")
    words = ("measure", "two-neurons", "two.safetensors", "--data", "spans.npz")
    code, out, err = here(*words, "--json", "--out", "small.safetensors")
    document = json.loads(out)
    with np.load(files / "spans.npz") as table:
        data = labeled(table["X"], table["y"])
    test = data._replace(X=data.X[1::2], y=data.y[1::2])
    found = two_neurons(load(files / "two.safetensors"), data.X[::2], test)
    assert code == 0 and not err and document["tested"] == 30 and document["neurons"] == 6
    assert (document["positive"], document["negative"], document["off"]) == (found.positive, found.negative, found.off)
    assert document["same"] == found.same._asdict() and document["largest"] == pytest.approx(found.largest)
    assert document["accuracy"] == [found.before._asdict(), found.after._asdict()]
    w, v = found.net.W[0].data[0, :, 1], max_margin(data.X, data.y).negative.w
    assert document["cosines"][1] == pytest.approx(float(w @ v / w.norm() / v.norm()))
    small = load(files / "small.safetensors")
    torch.testing.assert_close(small(data.X.float()), found.net(data.X).float())
    text = flat(here(*words)[1])
    assert "were merged" in text and "same prediction" in text and "w₋" in text


def test_two_neurons_with_few_points_and_without_max_margin_vectors(files, here):
    save(torch_default((2, 5, 1), seeds=[1]), files / "flat.safetensors")
    X = np.array([[1.0, 0.0], [-1.0, 0.1], [0.0, -1.0], [0.0, 1.0], [0.3, 0.3]])  # positive points on all sides
    np.savez(files / "few.npz", X=X, y=np.array([1, 1, 1, -1, -1]))
    code, out, err = here("measure", "two-neurons", "flat.safetensors", "--data", "few.npz")
    assert code == 0 and "too few to set some aside" in flat(out + err) and "no max-margin vector" in flat(out + err)
