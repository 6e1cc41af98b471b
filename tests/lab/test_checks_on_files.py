"""Every check on files is explained: symbols are defined, and counts are whole numbers in words, also in JSON."""

import json
import re

import numpy as np
import pytest
from plain_words import finding_problems, unclear_checks

from relulab import save, torch_default
from relulab.lab.catalog import find_theorem, theorems
from relulab.lab.inputs.labeled_table import LabeledTable
from relulab.lab.inputs.one_network import OneNetwork
from relulab.lab.inputs.teacher_student import TeacherStudent
from relulab.lab.theorem import Check
from relulab.subjects.bias.tools.orthants import OppositeOrthants

# Settings that make a check fast.
FAST = {
    "IB.C1": {"width": 6, "until": 20, "step": 0.8}, "IB.T1": {"width": 6, "until": 20, "step": 0.8},
    "IB.LA1": {"starts": 4}, "IB.LA2": {"count": 20}, "IB.LA3": {"width": 4, "windows": 1},
    "IB.T1.start": {"starts": 20}, "IB.LB1": {"width": 6, "until": 2, "step": 0.8},
    "IB.L3": {"width": 6, "until": 3, "step": 0.8}, "IB.L4": {"width": 6, "steps": 10},
    **{id: {"sets": 20} for id in ("T5.C1", "T5.C2", "T5.D4", "T5.T3")},
}  # fmt: skip


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder, rng = tmp_path_factory.mktemp("files"), np.random.default_rng(0)
    for i, name in enumerate(("teacher", "student")):
        save(torch_default((2, 3 + i, 2), [i]), folder / f"{name}.safetensors")
    np.save(folder / "x.npy", rng.standard_normal((1200, 2)))
    np.save(folder / "inputs.npy", rng.standard_normal((60, 4)))
    np.save(folder / "w.npy", rng.standard_normal(4))
    data = OppositeOrthants(3).draw(rng, 60)
    for name, labels in (("separable", data.y.numpy()), ("mixed", rng.choice((-1, 1), 60))):
        np.savetxt(folder / f"{name}.csv", np.c_[data.X.numpy(), labels], delimiter=",", header="a,b,c,y", comments="")
    return folder


def options(kind: type) -> list[dict[str, str]]:
    """The files for a kind of input, by option; more than one set where different checks come out."""
    if issubclass(kind, LabeledTable):
        return [{"data": "separable.csv"}, {"data": "mixed.csv"}]
    if issubclass(kind, OneNetwork):
        return [{"network": "student.safetensors", "data": "x.npy"}]
    if issubclass(kind, TeacherStudent):
        return [{"teacher": "teacher.safetensors", "student": "student.safetensors", "data": "x.npy"}]
    return [{"data": "inputs.npy", "teacher": "w.npy"}]


@pytest.mark.parametrize("id", [id for id in theorems() if find_theorem(id).on])
def test_a_check_on_files_is_explained(id, files):
    theorem = find_theorem(id)
    for kind in theorem.on:
        for given in options(kind):
            paths = {name: files / file for name, file in given.items()}
            for settings in ({}, {"box": True}) if id in ("SS.T1", "SS.T2") else ({},):
                finding = theorem.check_files(paths, {**FAST.get(id, {}), **settings}).to_dict()
                assert finding_problems(id, theorem.symbols, json.loads(json.dumps(finding))) == []


def test_the_command_prints_counts_in_words_and_defines_its_symbols(files, here):
    code, out, _ = here("check", "IB.T1", "--data", str(files / "mixed.csv"))
    assert code == 1 and out.startswith("NOT_APPLICABLE")
    assert re.search(r": \d{3} of (\d{3}|1,\d{3}) pairs do not", " ".join(out.split()))
    given = options(TeacherStudent)[0].items()
    code, out, _ = here("check", "SS.L1", *(f"--{name}={files / file}" for name, file in given))
    assert code == 0 and "Symbols and terms" in out and "top-down" not in out.partition("Symbols and terms")[0]
    assert "activations of layer l of the student" in " ".join(out.split())


@pytest.mark.parametrize(("check", "problem"), [
    (Check("All pairs do", 113, "==", 0), "has no detail in words"),
    (Check("All pairs do", 113.0, "==", 0, detail="113 of 4,950 do not"), "compares 113.0"),
    (Check("All pairs do", 113, "==", 0, detail="113.0 of 4,950 do not"), "not written as 4,950"),
    (Check("All pairs do", 113, "==", 0, detail="113 of 4950 do not"), "not written as 4,950"),
    (Check("All pairs do", 0, "==", 0, detail="the largest is nan"), "is not in words"),
    (Check("The norm ‖w_j‖ is small", 0.5, "<=", 1.0), "the symbol w_j is not defined"),
])  # fmt: skip
def test_an_unclear_check_would_be_noticed(check, problem):
    row = {**vars(check), "holds": check.holds}
    problems = finding_problems("XX.T1", {}, {"conditions": [row], "conclusion": []})
    assert any(problem in found for found in problems)


def test_clear_checks_pass():
    checks = [Check("All pairs do", 113, "==", 0, detail="113 of 4,950 pairs do not"), Check("A sum", 0.25, "<=", 1.0),
              Check("Two sides", 1e-9, "==", 0.0, 1e-8, detail="they differ by 1e-09 at 1,000 points")]  # fmt: skip
    assert unclear_checks({"conditions": [vars(check) for check in checks], "conclusion": []}) == []
