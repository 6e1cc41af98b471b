"""Reading data: one table in every format gives the same points and labels, and nothing is assumed silently."""

import gzip
import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from written_tables import FILES, X, Y, frame, idx, write

from relulab import UserError, read_data, read_points, read_table
from relulab.io.data_formats import ENDINGS
from relulab.io.data_table import Matrix
from relulab.lab.inputs.with_data import WithData

RNG = np.random.default_rng(1)


def test_the_help_and_the_tests_name_every_ending():
    described = WithData.model_fields["data"].description or ""
    assert {"." + name.split(".")[1] for name in FILES} == set(ENDINGS)
    assert all(f"{ending}" in described for ending in ENDINGS if ending != ".bin") and ".gz" in described


@pytest.mark.parametrize("name", FILES)
def test_every_format_gives_the_same_points_and_labels(tmp_path, name):
    path = write(tmp_path, name)
    label = -1 if ".npy" in name else None
    data = read_data(path, label=label, inputs=3)
    assert np.array_equal(data.points, X) and data.points.dtype == torch.float64
    assert data.labels is not None and data.labels.tolist() == Y.tolist() and data.labels.dtype.kind == "i"
    assert np.array_equal(read_points(path, label=label, inputs=3), X)
    table = read_table(path, classes=(7, 1))
    kept = Y != 2
    assert np.array_equal(table.X, X[kept]) and table.names == ("7", "1")
    assert table.y.tolist() == np.where(Y[kept] == 1, 1, -1).tolist()
    assert read_table(path, classes="1,7").y.tolist() == (-table.y).tolist()


@pytest.mark.parametrize("name", FILES)
def test_boolean_labels_and_labels_0_and_1(tmp_path, name):
    truth = Y == 7
    for labels in (truth, truth.astype(float), truth.astype(int)):
        table = read_table(write(tmp_path, name, labels))
        assert np.array_equal(table.X, X) and table.y.tolist() == np.where(truth, 1, -1).tolist()
        assert table.names == (("False", "True") if labels.dtype == bool and ".npy" not in name else ("0", "1"))


def test_single_precision_is_kept_only_by_files_that_have_it(tmp_path):
    np.savez(tmp_path / "x.npz", X=X.astype(np.float32))
    torch.save(torch.tensor(X, dtype=torch.bfloat16), tmp_path / "x.pt")
    torch.save(torch.tensor(X).half(), tmp_path / "half.pt")
    for name in ("x.npz", "x.pt", "half.pt"):
        assert read_points(tmp_path / name).dtype == torch.float32
    assert read_points(write(tmp_path, "x.csv"), label="class").dtype == torch.float64


def test_a_tensor_alone_and_in_a_checkpoint(tmp_path):
    torch.save(torch.tensor(X), tmp_path / "x.pt")
    assert np.array_equal(read_points(tmp_path / "x.pt", inputs=3), X)
    torch.save({"step": 3, "data": {"X": torch.tensor(X), "y": torch.tensor(Y)}}, tmp_path / "x.pt")
    assert np.array_equal(read_points(tmp_path / "x.pt"), X)
    torch.save(torch.tensor(np.column_stack([X, Y])), tmp_path / "x.pt")
    assert read_table(tmp_path / "x.pt", classes=[1, 2]).X.shape == (5, 3)


@pytest.mark.parametrize("packed", [False, True])
def test_idx_files_with_their_labels(tmp_path, packed):
    pack, ending = (gzip.compress, ".gz") if packed else (bytes, "")
    images = RNG.integers(0, 255, (8, 2, 5), dtype=np.uint8)
    path = tmp_path / f"train-images-idx3-ubyte{ending}"
    path.write_bytes(pack(idx(images)))
    data = read_data(path)
    assert np.array_equal(data.points, images.reshape(8, 10)) and data.labels is None
    assert data.notes == ("images of 2 × 5 pixels were read as rows of 10 numbers from 0 to 255",)
    (tmp_path / "train-labels-idx1-ubyte").write_bytes(idx(Y.astype(np.uint8)))
    assert read_data(path).labels.tolist() == Y.tolist() and read_table(path, classes="1,7").X.shape == (6, 10)
    refused(tmp_path / "train-labels-idx1-ubyte", "contains labels or single numbers, not points")


def refused(path, says: str, **options) -> None:
    with pytest.raises(UserError) as refusal:
        read_data(path, **options)
    assert says in str(refusal.value) and "\n" not in str(refusal.value), refusal.value


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_a_column_of_labels_is_never_an_input_by_accident(tmp_path, ending):
    def file(table: pd.DataFrame) -> str:
        path = tmp_path / f"x.{ending}"
        table.to_csv(path, index=False) if ending == "csv" else table.to_parquet(path)
        return str(path)

    path = file(frame("Label"))
    data = read_data(path, inputs=3)
    assert np.array_equal(data.points, X) and data.notes == ("column 'Label' holds labels and was left out",)
    data = read_data(path, inputs=4)
    assert np.array_equal(data.points[:, 3], Y) and data.labels is None
    assert data.notes == ("column 'Label' is one of the 4 inputs",)
    refused(
        path, "column 'Label' may hold labels or be an input: add --label Label if it holds labels, or pass inputs=4"
    )
    refused(path, "expected 2 columns, one per input, got 4: select a column of labels with --label", inputs=2)
    words = file(frame(labels=np.where(Y == 7, "red", "blue")))
    assert read_data(words).labels.tolist() == read_data(words, inputs=3).labels.tolist()
    assert read_data(words).labels[0] == "red"
    path = file(frame("y").assign(target=1.0))
    refused(path, "column 'y' and column 'target' may hold the labels: select one with --label", inputs=4)
    assert read_data(path, label="y", inputs=4).points[:, 3].tolist() == [1] * 8
    assert np.array_equal(read_data(path, label="y", drop="target").points, X)
    path = file(frame("kind"))  # no name of labels
    assert read_data(path).points.shape == (8, 4) and read_data(path).notes == ()
    path = file(frame("kind", np.where(Y == 7, "red", "blue")))
    refused(
        path, "expected numbers in column 'kind', got 'red' in row 0 (counting from 0): add --label kind if", inputs=3
    )
    assert np.array_equal(read_data(path, drop="kind").points, X)


def test_columns_are_selected_by_name_or_number(tmp_path):
    path = write(tmp_path, "x.csv")
    for drop in ("a,c", [0, 2], "-4,c", ("a", -2)):
        data = read_data(path, label="class", drop=drop)
        assert np.array_equal(data.points, X[:, [1]])
        assert data.notes[0] == "left out as requested: column 'a', column 'c'"
    refused(path, "has no column 'clas' (--label): did you mean 'class'?", label="clas")
    refused(path, "has no column 'w' (--drop): choose from a, b, c, class", drop="w")
    refused(path, "has no column 4 (--drop): columns are counted from 0 to 3", drop="4")
    refused(path, "has no columns left for the points", drop="a,b,c", label="class")
    wide = tmp_path / "wide.csv"
    pd.DataFrame(np.eye(30), columns=[f"pixel{k}" for k in range(30)]).to_csv(wide, index=False)
    refused(wide, "choose from pixel0, pixel1, pixel2", drop="w")
    refused(wide, "pixel10, pixel11, …", drop="w")


def test_arrays_are_selected_by_name_and_their_columns_by_number(tmp_path):
    path = tmp_path / "x.npz"
    np.savez(path, X=np.column_stack([X, Y]), y=Y, other=X)
    assert np.array_equal(read_data(path, drop="3").points, X)
    data = read_data(path, label=-1)
    assert np.array_equal(data.points, X) and data.labels.tolist() == Y.tolist()
    assert data.notes == ("column 3 holds labels and was left out",)
    assert np.array_equal(read_data(path, drop="X").points, X)  # the only other array
    refused(path, "has no array of labels named 'z'", label="z")
    np.savez(path, X=X, y=Y[:3])
    assert read_data(path).labels is None
    refused(path, "got points of shape (8, 3) and labels of shape (3,)", label="y")
    np.savez(path, X=np.ones((8, 1, 2, 2)), y=Y)
    refused(path, "has no columns, because its points have shape (1, 2, 2): leave out --drop", drop="0")
    np.savez(path, X=X, y=Y, label=Y)
    assert read_data(path).labels is None
    with pytest.raises(UserError, match="the arrays y and label may hold the labels: select one with --label"):
        read_table(path)


def test_columns_with_the_same_name(tmp_path):
    path = tmp_path / "x.csv"
    path.write_text("a,a,class\n1,2,0\n3,4,1\n")
    assert read_data(path, inputs=2).points.tolist() == [[1, 2], [3, 4]]
    refused(path, "has 2 columns named 'a': give a number, such as --drop 0", drop="a")
    assert read_data(path, drop="1", label="class").points.tolist() == [[1], [3]]


def test_rows_with_missing_values(tmp_path):
    path = tmp_path / "x.csv"
    path.write_text("id,a,b,flag,class\n1,1,2,True,red\n2,?,3,False,red\n3,4,5,,blue\n4,6,7,True,\n5,8,9,False,blue\n")
    refused(path, "column 'a' has missing values in 1 of 5 rows, first in row 1 (counting from 0): fill", drop="id")
    data = read_data(path, drop="id", drop_missing=True)
    assert data.points.tolist() == [[1, 2, 1], [8, 9, 0]] and data.labels.tolist() == ["red", "blue"]
    assert data.notes[-1] == "3 of 5 rows with missing values were dropped"
    data = read_data(path, drop="id,a,flag")  # the missing label is not needed
    assert data.points.shape == (5, 1) and data.labels is None
    refused(path, "column 'class' has missing values in 1 of 5 rows, first in row 3", drop="id,a,flag", label="class")
    refused(path, "column 'class' has missing values", drop="id,a,flag", classes="red")
    path.write_text("a,b,\n1,2,\n3,4,\n")
    assert read_data(path).points.tolist() == [[1, 2], [3, 4]]  # separators at the end of the lines
    path.write_text("a,b,c\n1,,3\n2,,4\n")
    refused(path, "every row of", drop_missing=True)


@pytest.mark.parametrize("ending", ["csv", "parquet", "npz"])
def test_missing_labels_are_dropped_with_their_rows(tmp_path, ending):
    path, labels = tmp_path / f"x.{ending}", Y.astype(float)
    labels[[2, 5]] = np.nan
    table = frame("y", labels)
    if ending == "npz":
        np.savez(path, X=X, y=labels)
    else:
        table.to_csv(path, index=False) if ending == "csv" else table.to_parquet(path)
    with pytest.raises(UserError, match=r"'y' has missing values.* in 2 of 8 rows, first in row 2"):
        read_table(path, classes="1,2")
    assert read_table(path, classes="1,7", drop_missing=True).X.shape == (4, 3)


def test_classes_need_labels_and_tables_need_two(tmp_path):
    path = write(tmp_path, "x.csv")
    data = read_data(path, classes=[7], inputs=3)
    assert np.array_equal(data.points, X[Y == 7]) and data.notes[-1] == "3 of 8 rows have the labels 7 and were kept"
    refused(path, "has no points of class '3' (--classes): its classes are 1, 2, 7", classes="3", inputs=3)
    np.save(tmp_path / "x.npy", X)
    refused(tmp_path / "x.npy", "--classes needs labels, but", classes="0,1")
    with pytest.raises(UserError, match="--classes: expected two classes, such as 0,1, got 7"):
        read_table(path, classes="7")
    with pytest.raises(UserError, match=r"got 3 different labels \(1, 2, 7\): keep two of them with --classes 1,2, or"):
        read_table(path)


def test_columns_of_parquet_files_that_allow_gaps(tmp_path):
    path = tmp_path / "x.parquet"
    columns = {"a": [1, None, 3], "b": [True, False, None], "y": [0, 1, 1]}
    types = {"a": "Int64", "b": "boolean", "y": "Int8"}
    pd.DataFrame(columns).astype(types).to_parquet(path)
    data = read_data(path, drop_missing=True, inputs=2)
    assert data.points.tolist() == [[1, 1]] and data.labels.tolist() == [0]
    pd.DataFrame(columns).astype({**types, "y": "category"}).to_parquet(path)
    assert read_data(path, drop_missing=True, label="y").labels.tolist() == [0]
    pd.DataFrame({"a": [1.0, 2, 3], "b": [1, 2, 3], "y": [1, None, 0]}).astype({"y": "Int64"}).to_parquet(path)
    assert read_table(path, drop_missing=True).names == ("0", "1")


def test_one_row_and_one_column(tmp_path):
    (tmp_path / "x.csv").write_text("a,b\n1,2\n")
    assert read_points(tmp_path / "x.csv").tolist() == [[1, 2]]
    (tmp_path / "x.txt").write_text("1\n2\n")
    assert read_points(tmp_path / "x.txt", inputs=1).tolist() == [[1], [2]]


def test_endings_of_compressed_files(tmp_path):
    (tmp_path / "x.csv").write_bytes(gzip.compress(b"a,b\n1,2\n"))  # compressed without saying so
    assert read_points(tmp_path / "x.csv").tolist() == [[1, 2]]
    (tmp_path / "x.csv.gz").write_bytes(b"a,b\n1,2\n")  # unpacked by a browser
    assert read_points(tmp_path / "x.csv.gz").tolist() == [[1, 2]]
    for name in ("x.csv.gz", "x.npy.gz"):
        (tmp_path / name).write_bytes(gzip.compress(b""))
        refused(tmp_path / name, "has no rows" if "csv" in name else "is empty")
    (tmp_path / "x.npz.gz").write_bytes(gzip.compress(b"PK"))
    refused(tmp_path / "x.npz.gz", "a compressed .npz file such as")
    (tmp_path / "x.gz").write_bytes(gzip.compress(b"1,2\n"))
    refused(tmp_path / "x.gz", "expected a .csv, ")
    (tmp_path / "x.npy.gz").write_bytes(gzip.compress(b"not an array"))
    refused(tmp_path / "x.npy.gz", "is not a valid NumPy array")


class Payload:
    def __reduce__(self):
        return (os.mkdir, ("mark",))


def test_nothing_is_unpickled(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    torch.save({"X": Payload()}, "x.pt")
    torch.save(Payload(), "old.pth", _use_new_zipfile_serialization=False)
    np.save("x.npy", np.array([[Payload()]]), allow_pickle=True)
    with gzip.open("x.npy.gz", "wb") as file:
        np.save(file, np.array([[Payload()]]), allow_pickle=True)
    for name in ("x.pt", "old.pth", "x.npy", "x.npy.gz"):
        refused(tmp_path / name, name)
    assert not os.path.exists("mark")
    torch.save([torch.ones(2)] * 3, "x.pt")
    refused("x.pt", "expected named tensors")
    for other in ("text", torch.ones(2, 2), torch.ones(3)):
        torch.save((torch.ones(2, 2), other), "x.pt")
        refused("x.pt", "expected named tensors")
    torch.save(torch.ones(2, 2, dtype=torch.complex64), "x.pt")
    refused("x.pt", "has type torch.complex64: convert it")


@pytest.mark.parametrize("name", FILES)
def test_damaged_files_are_read_or_refused_in_one_sentence(tmp_path, name):
    path, rng = Path(write(tmp_path, name)), np.random.default_rng(len(name))
    whole = path.read_bytes()
    for _ in range(25):
        content = bytearray(whole)
        for at in rng.integers(0, len(whole), rng.choice([1, 3, 20])):
            content[at : at + rng.choice([0, 1, 9])] = rng.choice([b",", b";", b'"', b"\n", b"\0", b"nan", b"\xff"])
        path.write_bytes(content)
        try:
            data = read_data(path, label=-1 if ".npy" in name else None, inputs=3, drop_missing=True)
        except UserError as error:
            assert "\n" not in str(error)
        else:
            assert data.points.isfinite().all() and data.points.shape[1] in (2, 3, 4)
            assert data.labels is None or len(data.labels) == len(data.points)


def test_damaged_notes_of_pandas_in_a_parquet_file_do_not_matter(tmp_path):
    import pyarrow
    from pyarrow.parquet import write_table

    table = pyarrow.Table.from_pandas(frame())
    metadata = table.schema.metadata[b"pandas"].replace(b"numpy_type", b"no_type")
    write_table(table.replace_schema_metadata({b"pandas": metadata}), tmp_path / "x.parquet")
    assert read_data(tmp_path / "x.parquet", label="class").points.shape[0] == len(frame())


def test_the_index_of_a_data_frame_is_not_an_input(tmp_path):
    table = pd.DataFrame({"a": [1.0, 2.0, 3.0], "b": [4.0, 5.0, 6.0]})
    for name, each in (
        ("plain", table),
        ("filtered", table[table.a > 1]),
        ("named", table.assign(id=7).set_index("id")),
    ):
        each.to_parquet(tmp_path / f"{name}.parquet")
        assert read_data(tmp_path / f"{name}.parquet").points.tolist() == each.to_numpy().tolist()


def test_the_columns_of_an_array_are_selected_without_a_data_frame():
    table = Matrix(np.arange(12, dtype=np.float32).reshape(3, 4))
    rows = np.array([True, False, True])
    assert table.points([0, 3], rows).tolist() == [[0, 3], [8, 11]] and table.points([0, 3], rows).dtype == np.float32
    assert table.points(range(4), ~rows).tolist() == [[4, 5, 6, 7]]
