"""Files compressed with gzip: found by their first bytes, never unpacked beyond a limit."""

import gzip

import pytest

from relulab import UserError
from relulab.io.unpacked import opened

TEXT = b"a,b\n1,2\n" * 1000


@pytest.mark.parametrize("name", ["x.csv", "x.csv.gz"])
@pytest.mark.parametrize("packed", [False, True])
def test_compression_is_found_by_the_first_bytes(tmp_path, name, packed):
    (tmp_path / name).write_bytes(gzip.compress(TEXT) if packed else TEXT)
    with opened(tmp_path / name) as file:
        assert file.read() == TEXT


def test_two_compressed_files_in_a_row_are_one(tmp_path):
    (tmp_path / "x.gz").write_bytes(gzip.compress(b"a") + gzip.compress(b"b"))
    with opened(tmp_path / "x.gz") as file:
        assert file.read() == b"ab"


@pytest.mark.parametrize("cut", [5, 12, -9, -1])
def test_damaged_files_are_refused(tmp_path, cut):
    (tmp_path / "x.gz").write_bytes(gzip.compress(TEXT, mtime=0)[:cut])
    with pytest.raises(UserError, match=r"x\.gz is a damaged gzip file"):
        opened(tmp_path / "x.gz")


def test_a_file_that_unpacks_to_far_more_than_its_size_is_refused(tmp_path, monkeypatch):
    content = gzip.compress(bytes(3_000_000))
    (tmp_path / "x.gz").write_bytes(content)
    with opened(tmp_path / "x.gz") as file:  # small enough in any case
        assert len(file.read()) == 3_000_000
    monkeypatch.setattr("relulab.io.guard.SMALL", 2_000_000)
    with pytest.raises(UserError, match=r"unpacks to more than 2 MB, which is not safe to read"):
        opened(tmp_path / "x.gz")
    monkeypatch.setattr("relulab.io.guard.BOMB", 2000)
    assert len(content) * 2000 > 3_000_000
    with opened(tmp_path / "x.gz") as file:
        assert len(file.read()) == 3_000_000
