"""Files are complete or absent, and are opened only where they really are."""

import errno
import os

import pytest

from relulab.core.files import atomic, open_inside, read_inside, real_folder, remove_leftovers


def test_a_failed_write_leaves_the_old_file_and_nothing_else(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("old")
    with pytest.raises(ZeroDivisionError), atomic(path) as part:
        part.write_text("half")
        raise ZeroDivisionError
    assert path.read_text() == "old" and [*tmp_path.iterdir()] == [path]
    with atomic(path) as part:
        part.write_text("new")
    assert path.read_text() == "new" and [*tmp_path.iterdir()] == [path]


def test_an_error_keeps_its_message_and_one_of_a_full_disk_gets_the_name_of_the_file(tmp_path):
    path = tmp_path / "a.txt"
    with pytest.raises(OSError, match="cannot write this"), atomic(path):
        raise OSError("cannot write this")
    with pytest.raises(OSError) as full, atomic(path):
        raise OSError(errno.ENOSPC, "No space left on device")
    assert (full.value.errno, full.value.filename) == (errno.ENOSPC, str(path))


def test_a_file_that_is_a_link_is_replaced_and_its_target_stays(tmp_path):
    target, link = tmp_path / "target", tmp_path / "link"
    target.write_text("mine")
    link.symlink_to(target)
    with atomic(link) as part:
        part.write_text("new")
    assert target.read_text() == "mine" and link.read_text() == "new" and not link.is_symlink()


def test_a_temporary_file_is_not_written_through_a_link(tmp_path, monkeypatch):
    monkeypatch.setattr("relulab.core.files.secrets.token_hex", lambda n: "guessed")
    target = tmp_path / "target"
    target.write_text("mine")
    (tmp_path / f".relulab-{os.getpid()}-guessed.tmp").symlink_to(target)
    with pytest.raises(FileExistsError), atomic(tmp_path / "a"):
        pass
    assert target.read_text() == "mine"


def test_no_reader_takes_a_temporary_file_for_a_result(tmp_path):
    with atomic(tmp_path / "unit.nc") as part:
        part.write_text("half")
        assert not [*tmp_path.glob("*.nc")] and not [*tmp_path.glob("*.safetensors")] and part.parent == tmp_path


def test_leftovers_of_ended_processes_are_removed_and_those_of_others_stay(tmp_path):
    ended = os.spawnvp(os.P_WAIT, "true", ["true"])
    assert ended == 0
    dead = os.fork()
    if not dead:
        os._exit(0)
    os.waitpid(dead, 0)
    names = [f".relulab-{dead}-ab.tmp", f".relulab-{os.getpid()}-cd.tmp", ".relulab-x-ef.tmp", "result.tmp"]
    for name in names:
        (tmp_path / name).touch()
    remove_leftovers(tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == set(names[1:])


@pytest.fixture
def folder(tmp_path):
    """A folder with a file, and with everything that must not be opened."""
    (tmp_path / "secret").write_text("secret")
    inside = tmp_path / "inside"
    (inside / "real").mkdir(parents=True)
    (inside / "real" / "file").write_text("content")
    (inside / "link").symlink_to(tmp_path / "secret")
    (inside / "folder").symlink_to(tmp_path)
    (inside / "zero").symlink_to("/dev/zero")
    os.link(tmp_path / "secret", inside / "second-name")
    os.mkfifo(inside / "pipe")
    return inside


def test_a_file_is_read(folder):
    assert read_inside(folder, "real/file", 7) == b"content"
    with pytest.raises(OSError, match="more than 6 bytes"):
        read_inside(folder, "real/file", 6)


@pytest.mark.parametrize(
    "name", ["link", "folder/secret", "zero", "pipe", "real", "../secret", "real/../../secret", ""]
)
@pytest.mark.parametrize("flags", [os.O_RDONLY, os.O_RDWR | os.O_CREAT, os.O_WRONLY | os.O_APPEND | os.O_CREAT])
def test_what_is_not_a_regular_file_inside_is_refused(folder, name, flags):
    with pytest.raises(OSError, match=r"link|regular|inside"):
        open_inside(folder, name, flags)


def test_an_absolute_path_is_refused(folder):
    with pytest.raises(OSError, match="inside"):
        open_inside(folder, str(folder / "real" / "file"))


def test_a_file_with_a_second_name_is_read_but_not_written(folder):
    assert read_inside(folder, "second-name", 100) == b"secret"
    with pytest.raises(OSError, match="several names"):
        open_inside(folder, "second-name", os.O_RDWR)


def test_a_new_file_is_created(folder):
    with open_inside(folder, "new", os.O_RDWR | os.O_CREAT) as file:
        file.write(b"x")
    assert (folder / "new").read_bytes() == b"x"


def test_real_folders(folder):
    assert real_folder(folder / "real")
    assert not any(real_folder(folder / name) for name in ("folder", "real/file", "missing", "a\0b"))
