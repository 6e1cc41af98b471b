"""Reading points of two classes: the same data in every format, and one-line errors for invalid files."""

import os
import sys

import numpy as np
import pandas as pd
import pytest

from relulab import UserError
from relulab.io.tables import read_table

X = np.random.default_rng(0).standard_normal((7, 3))
Y = np.array([1, -1, 1, 1, -1, -1, 1])


def frame(label="y", last=True) -> pd.DataFrame:
    table = pd.DataFrame(X, columns=["a", "b", "c"])
    table.insert(3 if last else 1, label, Y)
    return table


def write(folder, name: str) -> str:
    """Write the data in one of many formats."""
    path = folder / name
    text = {
        "header.csv": frame(),
        "first.csv": frame("Class", False),
        "last.csv": frame("kind"),
        "tab.tsv": frame("LABEL"),
    }
    if name in text:
        text[name].to_csv(path, index=False, sep="\t" if name == "tab.tsv" else ",")
    elif name == "bare.csv":
        frame().to_csv(path, index=False, header=False)
    elif name == "numbered.csv":
        frame().set_axis([0, 1, 2, "target"], axis=1).to_csv(path, index=False)
    elif name == "spaced.csv":
        rows = [", ".join(map(repr, row)) for row in np.column_stack([X, Y]).tolist()]
        path.write_text("\n".join(["a, b, c, y", *rows]), encoding="utf-8-sig")
    elif name == "table.parquet":
        frame("targets", False).to_parquet(path)
    elif name == "last.npy":
        np.save(path, np.column_stack([X, Y]))
    elif name == "X.npz":
        np.savez(path, X=X, y=Y, extra=np.ones(3))
    elif name == "data.npz":
        np.savez(path, data=X, Labels=Y[:, None])
    elif name == "alone.NPZ":
        with path.open("wb") as file:
            np.savez(file, whatever=X, target=Y > 0)
    return str(path)


FILES = ["header.csv", "first.csv", "last.csv", "tab.tsv", "bare.csv", "numbered.csv", "spaced.csv", "table.parquet",
         "last.npy", "X.npz", "data.npz", "alone.NPZ"]  # fmt: skip


@pytest.mark.parametrize("name", FILES)
def test_the_same_data_in_every_format(tmp_path, name):
    table = read_table(write(tmp_path, name))
    assert np.array_equal(table.X.numpy(), X) and np.array_equal(table.y.numpy(), Y)


@pytest.mark.parametrize("label", ["b", "1", 1, -3])
@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_another_column_of_labels(tmp_path, label, ending):
    words = np.where(Y > 0, "spam", "ham")
    table = pd.DataFrame({"a": X[:, 0], "b": words, "c": X[:, 1], "y": X[:, 2]})
    path = tmp_path / f"x.{ending}"
    table.to_csv(path, index=False) if ending == "csv" else table.to_parquet(path)
    table = read_table(path, label)
    assert np.array_equal(table.X.numpy(), X) and np.array_equal(table.y.numpy(), Y) and table.names == ("ham", "spam")


def test_text_labels_without_a_header_and_in_an_array(tmp_path):
    (tmp_path / "x.csv").write_text("0.5,1,no\n1,-2.5,yes\n")
    table = read_table(tmp_path / "x.csv")
    assert table.X.tolist() == [[0.5, 1], [1, -2.5]] and table.y.tolist() == [-1, 1] and table.names == ("no", "yes")
    (tmp_path / "x.csv").write_text("no,0.5,1\nyes,1,-2.5\n")
    assert read_table(tmp_path / "x.csv", "0").X.tolist() == [[0.5, 1], [1, -2.5]]
    np.savez(tmp_path / "x.npz", X=[[0.5, 1], [1, -2.5]], kind=["no", "yes"], y=[3, 3])
    assert read_table(tmp_path / "x.npz", "kind").names == ("no", "yes")


def test_pictures_are_rows(tmp_path):
    np.savez(tmp_path / "x.npz", images=np.arange(24, dtype=np.uint8).reshape(2, 3, 4), y=[0, 1])
    assert read_table(tmp_path / "x.npz").X.shape == (2, 12)


TEXTS = {
    "a,b,y\n": "has no rows",
    "\n\n": "has no rows",
    "a,b,y\n1,2,0\n1,,1\n": "column 'b' has missing values in 1 of 2 rows, first in row 1 (counting from 0): fill",
    "a,b,y\n1,2,0\n1,3,\n": "column 'y' has missing values in 1 of 2 rows",
    "a,b,y\n1,2,0\n1,red,1\n": "expected numbers in column 'b', got 'red' in row 1 (counting from 0): add --label b if",
    "a,b,y\n1,2,0\n1,2,3,1\n": "is not a valid table: Expected 3 fields in line 3, saw 4",
    "a,b,y\n1,2,3,0\n1,2,3,1\n": "got 3 names in the first line and 4 columns below it",
    ",a,b,y\n5,1,2,0\n7,3,2,1\n": "column 0 has no name: name it, or leave it out with --drop 0",
    "a\n1\n2\n": "at least two columns in",
    "x,y,label\n1,2,0\n1,3,1\n": "column 'y' and column 'label' may hold the labels: select one with --label",
    "a,b,y\n1,2,0\n1,3,2\n1,4,1\n": "got 3 different labels (0, 1, 2): keep two of them with --classes 0,1, or select",
    "a,b,y\n1,2,1\n1,3,1\n": "but all 2 points have the label 1",
    "a,y\n1,0\n2,1\n": "at least 2 columns, got d = 1",
    "a,b,y\n1,2,0\n1,inf,1\n": "expected finite points, got infinite values in 1 of 2 rows, first in row 1",
    "a,b,y\n1,2,0\n1,2,1\n": "rows 0 and 1 (counting from 0) are the same point with different labels",
    "a,b,y\n1,2,0\n\x00,\x00": "",
}  # fmt: skip


@pytest.mark.parametrize("text", TEXTS)
def test_invalid_csv_files_are_refused(tmp_path, text):
    (tmp_path / "x.csv").write_text(text)
    refused(tmp_path / "x.csv", TEXTS[text])


def refused(path, says: str, label=None) -> None:
    with pytest.raises(UserError) as refusal:
        read_table(path, label)
    assert says in str(refusal.value) and path.name in str(refusal.value) and "\n" not in str(refusal.value)


def test_arrays_that_are_refused(tmp_path):
    def npz(**arrays):
        np.savez(tmp_path / "x.npz", **arrays)
        return tmp_path / "x.npz"

    refused(npz(X=X), "got X: rename the labels to y")
    refused(npz(a=X, b=X, y=Y), "expected points named X in")
    refused(npz(X=X, y=Y), "has no array of labels named 'yy': did you mean 'y'?", "yy")
    refused(npz(X=X, y=Y[:3]), "got points of shape (7, 3) and labels of shape (3,)")
    refused(npz(X=X.astype(str), y=Y), "real numbers")
    refused(npz(X=X, y=Y.astype(object)), "Python objects")
    np.save(tmp_path / "x.npy", X[0])
    refused(tmp_path / "x.npy", "got (3,): reshape the array")
    np.save(tmp_path / "x.npy", X.astype(object), allow_pickle=True)
    refused(tmp_path / "x.npy", "Python objects")


def test_missing_label_columns_are_refused(tmp_path):
    path = tmp_path / "x.csv"
    frame("species").to_csv(path, index=False)
    refused(path, "has no column 'specie' (--label): did you mean 'species'?", "specie")
    refused(path, "has no column 4 (--label): columns are counted from 0 to 3", "4")


@pytest.mark.parametrize("name, says", [
    ("x.xlsx", "expected a .csv, .tsv, .txt, .parquet, .npy, .npz, .safetensors, .pt, .pth or .bin file"),
    ("x", "which has no extension"),
    ("x.csv", "is empty"), ("missing.csv", "No such file"), ("folder.csv", "is a folder"),
    ("x.npz", "expected a zip archive"), ("x.npy", "not a valid NumPy array"),
    ("x.parquet", "is not a valid parquet table"), ("binary.csv", "expected text in UTF-8"),
])  # fmt: skip
def test_invalid_files_are_refused(tmp_path, name, says):
    path = tmp_path / name
    if name == "folder.csv":
        path.mkdir()
    elif name != "missing.csv":
        path.write_bytes(b"" if name == "x.csv" else b"\xff\xfe\x00nonsense" * 20)
    refused(path, says)


def test_a_huge_file_is_not_read(tmp_path):
    path = tmp_path / "x.csv"
    path.touch()
    os.truncate(path, 10_000_000_000)
    refused(path, "10.0 GB")


def test_parquet_without_pyarrow_says_what_to_install(tmp_path, monkeypatch):
    path = tmp_path / "x.parquet"
    frame().to_parquet(path)
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    refused(path, "pip install pyarrow")
