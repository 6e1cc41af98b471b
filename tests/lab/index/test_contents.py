"""The index gives the same entries as imports would, without importing anything."""

import subprocess
import sys
from dataclasses import replace

import pytest

from relulab import UserError
from relulab.lab.index import entries, entry, matching, papers, subjects
from relulab.lab.index.declared import declared
from relulab.lab.index.entry import Entry
from relulab.lab.index.imported import imported
from relulab.lab.index.source_code import SourceCode
from relulab.lab.index.subjects import roots

FILES = sorted({(one.kind, one.subject, one.module) for one in entries()})


def plain(one: Entry) -> Entry:
    """Return the entry without annotations, whose text differs after an import."""

    def bare(options):
        return [replace(option, annotation="") for option in options]

    details = dict(one.details)
    if "options" in details:
        details["options"] = bare(details["options"])
    details["annotations"] = list(details.get("annotations", []))
    details["on"] = [{**on, "options": bare(on["options"])} for on in details.get("on", [])]
    return replace(one, details=details)


def test_the_index_has_all_subjects_and_kinds():
    kinds = [one.kind for one in entries()]
    assert set(subjects()) == {"specialization", "bias", "distillation"}
    assert min(kinds.count(kind) for kind in ("study", "theorem", "instrument", "measurement")) >= 8


@pytest.mark.parametrize("kind, subject, module", FILES, ids=lambda part: part.rpartition(".")[2])
def test_reading_and_importing_agree(kind, subject, module):
    code = SourceCode(module, roots(subjects()[subject].package))
    read, known = list(declared(kind, subject, code)), list(imported(kind, subject, module))
    order = [one.name for one in known]
    assert [plain(one) for one in sorted(read, key=lambda one: order.index(one.name))] == [plain(one) for one in known]


def loaded(words: str) -> list[str]:
    """The modules that a command has imported when it ends."""
    code = (
        f"import sys\nsys.argv = ['relulab', *{words.split()!r}]\nfrom relulab.lab.cli import main\n"
        "try: main()\nexcept SystemExit: pass\nprint('\\n#', *sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=100)
    return done.stdout.rpartition("#")[2].split()


@pytest.mark.parametrize("words", [
    "list", "list --json", "show SS.T1", "show SS.T3 --json", "show separability", "run SS.F77", "check SS.L11",
    "measure --help", "measure max-margin --help", "check --help", "cite SS.F7",
    "run SS.F7 --set sedes=3", "run SS.F7 --preset quik", "run SS.F7 --engine dusk", "run missing.py",
    "measure correlation missing.pt b.pt --data x.npz", "measure separability t.csv --out x.xyz",
    "prune net.pt --data missing.npz", "check SS.L1 --teacher missing --student b.pt --data x.npz",
])  # fmt: skip
def test_list_show_help_and_mistakes_import_nothing_slow(words):
    modules = loaded(words)
    assert "relulab.lab.cli" in modules
    assert not {"torch", "numpy", "xarray", "scipy", "matplotlib", "pandas"} & set(modules)


def test_running_one_study_imports_that_study_only():
    modules = loaded("run SS.F7 --preset smoke --set over=1,1")  # a mistake that only the study itself can find
    assert "relulab.subjects.specialization.studies.recovery" in modules
    assert not [m for m in modules if m.startswith(("relulab.subjects.bias", "relulab.subjects.distillation"))]
    assert "relulab.subjects.specialization.studies.zero_gradient" not in modules


def test_a_shell_completes_ids_and_names():
    from relulab.lab.cli.complete import all_names, study_names, theorem_names

    assert "ss.f7" in study_names("ss.f") and "recovery" in study_names("rec") and not study_names("SS.L")
    assert "SS.L1" in theorem_names("SS.L") and {"SS.F7", "SS.L1"} <= set(all_names("SS."))


@pytest.mark.parametrize("one, other", [("optimisation", "optimization"), ("specialisation", "specialization")])
def test_british_and_american_spelling_give_the_same_matches(one, other):
    assert matching(entries(), one) == matching(entries(), other) != []


def test_a_shared_name_selects_a_study_first():
    assert entry("separability").kind == "instrument" and entry("separability", "measurement").kind == "measurement"
    assert entry("symmetry-breaking").kind == "study"
    with pytest.raises(UserError, match=r"expected a theorem, but SS\.F7 is a study: use relulab run SS\.F7"):
        entry("SS.F7", "theorem")
    with pytest.raises(UserError, match="no study 'xyzzy'"):
        entry("xyzzy", "study")


def test_every_id_belongs_to_a_paper_that_can_be_cited():
    tags = {id.partition(".")[0] for one in entries() for id in one.ids}
    assert tags <= set(papers()) and all(paper.bibtex.startswith("@") for paper in papers().values())


def test_a_list_fits_80_columns(here, monkeypatch):
    monkeypatch.setattr("relulab.lab.cli.terminal.console._width", 80)
    lines = here("list")[1].splitlines()
    assert max(len(line.rstrip()) for line in lines) <= 80
    words = " ".join(lines)
    assert all(one.name in words for one in entries())
