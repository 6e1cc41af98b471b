"""What goes between a run and its workers: studies, units and errors of a script exist in no module of the worker."""

import pytest
from scripts import DEFINED, NUMBERS, Session

from relulab import Local, UserError, find_study
from relulab.lab.run.engines.local import _answer, _sendable
from relulab.lab.run.engines.packed import NotSent, OtherCode, opened, packed, packed_study, unpacked
from relulab.lab.run.store import Run
from relulab.lab.study import Unit


@pytest.fixture
def session(monkeypatch, tmp_path, capsys):
    session = Session(monkeypatch)
    session.cell(DEFINED)
    return session


def test_a_worker_without_the_script_measures_its_units(session, monkeypatch, tmp_path):
    study = session.Mine.configured("smoke")
    run = Run.of(study, "smoke", tmp_path)
    (run.path / "units").mkdir(parents=True)
    parcel = packed_study(study, run.hash)
    units = [(unit, packed(unit, "it has")) for unit in study.units()]
    Session(monkeypatch)  # an empty one, as in a worker
    for unit, content in units:
        assert _answer(parcel, run, content, lambda steps: None, Local(1))[1] is None
        assert (data := run.units.read(unit)) and data.values["x"].item() == NUMBERS[unit.values["seed"]]


def test_a_study_that_a_worker_cannot_load(session):
    study = session.Mine.configured("smoke")
    parcel = packed_study(study, study.hash)
    with pytest.raises(OtherCode, match="a worker cannot load the study"):
        opened(parcel._replace(content=parcel.content[:-50]))
    with pytest.raises(OtherCode, match=r"other code than the run was started with.*restart of the kernel"):
        opened(parcel._replace(run_hash="0123456789"))


def test_a_unit_that_cannot_be_sent():
    with pytest.raises(NotSent, match=r"^the unit one has a value that cannot be sent"):
        packed(Unit("one", {"rows": (row for row in [])}), "the unit one has")


def test_a_class_that_extends_a_study_of_a_file(session, tmp_path):
    (tmp_path / "base_study.py").write_text(DEFINED + "\nSTUDY = Mine\n")
    session.cell(
        f"First = rl.find_study({str(tmp_path / 'base_study.py')!r})\nclass Second(First):\n    seeds: int = 5"
    )
    study = session.Second.configured("paper")
    assert opened(packed_study(study, study.hash)) == study
    code = find_study(str(tmp_path / "base_study.py"))
    assert unpacked(packed(code, "it has")) is code


def test_an_error_class_of_a_script_is_sent_as_a_known_one(session):
    session.cell("class Refused(rl.UserError): pass\nclass Closed(OSError): pass")
    sent = _sendable(session.Refused("no such data"), "one")
    assert type(sent) is UserError and str(sent) == "no such data"
    assert type(_sendable(session.Closed("gone"), "one")) is RuntimeError
    known = FileNotFoundError(2, "missing", "x.npz")
    assert _sendable(known, "one") is known


def test_a_file_edited_after_its_import_is_measured_in_this_process(session, tmp_path, monkeypatch):
    """Workers load the new file, but the run has the name of the code in memory."""
    study, said = session.Mine.configured("smoke"), []
    run = Run.of(study, "smoke", tmp_path)
    (run.path / "units").mkdir(parents=True)

    def other_code(*_):
        raise OtherCode("a worker found other code")

    monkeypatch.setattr("relulab.lab.run.engines.local._Crew.work", other_code)
    done = []
    Local(2).run(study, run, study.units(), lambda unit, seconds: done.append(unit.name), lambda *_: None, said.append)
    assert done == ["seed0", "seed1", "seed2"] and "a worker found other code; until then" in said[0]
    known = find_study("SS.F7").configured("smoke")
    with pytest.raises(OtherCode):
        Local(2).run(known, Run(tmp_path / "smoke-0"), known.units(), print, print, said.append)
