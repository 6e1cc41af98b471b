"""Text tables: the separator and the header are found, and what would be misread is refused."""

import re

import numpy as np
import pytest

from relulab import UserError
from relulab.io.text_table import read_text_table

ROWS = [[1.5, -2.0, 0.0], [0.25, 3.0, 1.0], [1e-3, 4.0, 0.0]]


@pytest.fixture
def table(tmp_path):
    """Writes a file and reads it as a table."""

    def table(content: str | bytes, name: str = "x.csv"):
        (tmp_path / name).write_bytes(content if isinstance(content, bytes) else content.encode())
        return read_text_table(tmp_path / name)

    return table


def text(separator: str, header: str = "a,b,y", end: str = "\n", last: str = "") -> str:
    lines = [header.replace(",", separator)] if header else []
    lines += [separator.join(map(repr, row)) for row in ROWS]
    return end.join(line + last for line in lines) + end


@pytest.mark.parametrize("separator", [",", ";", "\t", ", ", "; ", " "])
@pytest.mark.parametrize("header", ["a,b,y", ""])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("name", ["x.csv", "x.tsv", "x.txt"])
def test_separators_and_line_ends(table, separator, header, end, name):
    found = table(text(separator, header, end), name)
    assert found.frame.to_numpy().tolist() == ROWS and not found.notes and not found.left_out
    assert found.names == (["a", "b", "y"] if header else None)


def test_a_byte_order_mark_and_blank_lines(table):
    found = table(b"\xef\xbb\xbf\n\n" + text(",").encode() + b"\n\n")
    assert found.names == ["a", "b", "y"] and found.frame.to_numpy().tolist() == ROWS


def test_quoted_cells(table):
    found = table('"a, the first","b;c","class"\n"1.5","2","red, or ""pink"""\n3,4,"blue\n"\n')
    assert found.names == ["a, the first", "b;c", "class"]
    assert found.frame[[0, 1]].to_numpy().tolist() == [[1.5, 2], [3, 4]]
    assert found.frame[2].tolist() == ['red, or "pink"', "blue\n"]


@pytest.mark.parametrize("header", ["a,b,y", ""])
def test_separators_at_the_end_of_every_line(table, header):
    found = table(text(",", header, last=","))
    assert found.left_out == {3} and found.notes == (
        "the last column is empty and was left out: every line ends with a separator",
    )
    found = table("a,b,y\n" + text(",", "", last=","))  # only below the header
    assert found.left_out == {3} and found.names == ["a", "b", "y", ""]


@pytest.mark.parametrize("first", [0, 1])
def test_row_numbers_without_a_name_are_left_out(table, first):
    found = table(",a,b\n" + "".join(f"{i + first},{a},{b}\n" for i, (a, b, _) in enumerate(ROWS)))
    assert found.left_out == {0} and found.notes == ("column 0 has no name, counts the rows and was left out",)
    assert not table(",a,b\n5,1,2\n7,3,4\n").left_out


@pytest.mark.parametrize("line, names", [
    ("0,1,2", ["0", "1", "2"]), (",0,1", ["", "0", "1"]), ("0,1,3", None), ("0,1", None), ("1,2,3", None),
    ("0,1,label", ["0", "1", "label"]), ("a,b,c", ["a", "b", "c"]), ("a,1,2", None), ("nan,nan,nan", None),
])  # fmt: skip
def test_what_is_a_header(table, line, names):
    body = ",".join("5" * (line.count(",") + 1))
    found = table(f"{line}\n{body}\n")
    assert found.names == names and len(found.frame) == (1 if names else 2)
    noted = [f"the first line ({', '.join(names)}) was read as a header"] if names and line != "a,b,c" else []
    assert list(found.notes) == noted


def test_a_label_that_is_called_y_is_no_header(table):
    assert table("1,2,y\n3,4,n\n5,6,y\n").names is None
    found = table("1,2,y\n3,4,0\n5,6,1\n")
    assert found.names == ["1", "2", "y"] and found.notes == ("the first line (1, 2, y) was read as a header",)


@pytest.mark.parametrize("options", [{}, {"delimiter": ","}, {"fmt": "%9.3f"}, {"header": "a b c"},
                                     {"header": "a,b,class", "delimiter": ","}])  # fmt: skip
def test_what_numpy_writes(table, tmp_path, options):
    np.savetxt(tmp_path / "rows.txt", ROWS, **options)
    found = table((tmp_path / "rows.txt").read_bytes(), "x.txt")
    assert found.frame.to_numpy().tolist() == ROWS and not found.notes
    assert found.names == (re.findall(r"\w+", options["header"]) if "header" in options else None)


def test_missing_values(table):
    found = table("a,b,y\n1,,0\n2,?,1\nNA,nan,\n")
    assert found.frame.isna().to_numpy().tolist() == [[False, True, False], [False, True, False], [True, True, True]]


def test_cells_with_commas_do_not_decide_the_separator(table):
    found = table('a;b;class\n1;2;"red, dark"\n3;4;"red, light"\n')
    assert found.frame.shape == (2, 3) and found.names == ["a", "b", "class"]
    found = table("a;b\n1;x, y\n2;z, w\n")
    assert found.frame.shape == (2, 2)


def test_one_column(table):
    found = table("x\n1\n2\n")
    assert found.names == ["x"] and found.frame.to_numpy().tolist() == [[1], [2]]


@pytest.mark.parametrize("content, says", [
    ("a;b;y\n1,5;2,5;0\n", "column 'a' has decimal commas, such as 1,5 in row 0 (counting from 0): write"),
    ("1,5;0\n2,5;1\n", "column 0 has decimal commas"),
    ("1;2,5;0\n3;-,5e3;1\n", "column 1 has decimal commas, such as 2,5"),
    ('a,b\n1.5,2\n"2,5",3\n', "column 'a' has decimal commas, such as 2,5 in row 1"),
    ("1\t2,5\n3\t4,5\n", "column 1 has decimal commas"),
    ("a,b,y\n", "has no rows"), ("\n \n", "has no rows"), ("a\n", "has no rows"),
    ("a,b\n1,2\n3,4,5\n", "is not a valid table: Expected 2 fields in line 3, saw 3"),
    ("a,b,c\n1,2\n3,4\n", "got 3 names in the first line and 2 columns below it"),
    (b"a,b,label\n1,2,caf\xe9\n", "expected text in UTF-8, but"), (b"\xff\xfea\x00", "contains the byte 0xff"),
    ("a,b\n" + "1,2\n" * 300_000 + "3,\xe9", "contains the byte 0xe9"),
])  # fmt: skip
def test_what_is_refused(table, content, says):
    with pytest.raises(UserError) as refusal:
        table(content.encode("latin-1") if isinstance(content, str) else content)
    assert says in str(refusal.value) and "x.csv" in str(refusal.value) and "\n" not in str(refusal.value)


def test_numbers_are_read_to_the_last_bit(table):
    x = np.random.default_rng(0).standard_normal(1000) * 10.0 ** np.arange(-100, 100).repeat(5)
    assert table("\n".join(map(repr, x.tolist()))).frame[0].tolist() == x.tolist()
