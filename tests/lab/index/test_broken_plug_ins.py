"""What is wrong with one plug-in is said in one sentence, and everything else works."""

import inspect
import json
import os
import subprocess
import sys
import zipfile

import numpy as np
import pytest
from plug_ins import MAIN, caller, plug_in, registered

from relulab.lab.cli import build
from relulab.lab.cli.check import _check
from relulab.lab.index import entries
from relulab.lab.index.usable import CHECK_NAMES, COMMANDS

STUDY, THEOREM = "studies/half_active.py", "theorems/triangle.py"
MEASUREMENT, INSTRUMENT = "measurements/measure_longest.py", "instruments/lengths.py"
KINDS = {"studies": "study", "theorems": "theorem", "measurements": "measurement", "instruments": "instrument"}
IDS, TITLE, POINTS = '("XX.F1",)', '"Half of the inputs are active"', "points: int = 20_000"
PRESETS = '{"smoke": {"points": 200}, "quick": {"points": 2000}}'
ON = "on={OneNetwork: of_outputs}"
ONE = "from relulab.lab.inputs.one_network import OneNetwork"
FIRST = 'Demonstration("Two random vectors", Verdict.HOLDS, lambda: case(5, 5))'


def with_field(field: str) -> list[tuple[str, str, str]]:
    """Edits that add a field to the input of the theorem."""
    return [(THEOREM, ONE, f'{ONE} as One\n\n\nclass OneNetwork(One):\n    {field}: str = "a"\n    """Text."""\n')]


def constant(text: str) -> list[tuple[str, str, str]]:
    """Edits that compute a constant before the class of the study and use it."""
    return [(STUDY, POINTS, "points: int = N"), (STUDY, "class Half", f"{text}\n\n\nclass Half")]


# What is left out of the list, and what the sentence says.
BROKEN = {
    "ids_none": ([(STUDY, IDS, "None")], "ids: expected a tuple of ids"),
    "ids_int": ([(STUDY, IDS, "(5,)")], "ids: expected a tuple of ids"),
    "ids_text": ([(STUDY, IDS, '"XX.F1"')], "ids: expected a tuple of ids"),
    "ids_markup": ([(STUDY, IDS, '("[/x]",)')], "ids: expected a tuple of ids"),
    "name_markup": ([(STUDY, '"half-active"', '"[/bold]x"')], "name: expected a name of letters"),
    "title_none": ([(STUDY, TITLE, "None")], "title: expected a text, got nothing"),
    "presets_none": ([(STUDY, PRESETS, "None")], "presets: expected a dictionary"),
    "minus_text": ([(STUDY, POINTS, 'points: int = -"a"')], "TypeError: bad operand type"),
    "unpacked_int": ([(STUDY, POINTS, "points: dict = {**5}")], "TypeError: 'int' object is not a mapping"),
    "bad_format": ([(STUDY, POINTS, 'points: str = f"{5:zzz}"')], "ValueError: Invalid format specifier"),
    "itself": (constant("N = N"), "NameError: name 'N' is not defined"),
    "own_import": (constant("from norms_lab.studies.half_active import N"), "ImportError: cannot import name 'N'"),
    "own_base": ([(STUDY, "HalfActive(Study)", "HalfActive(HalfActive)")], "NameError: name 'HalfActive'"),
    "no_source": ([(INSTRUMENT, 'source="XX eq. 1", ', "")], "missing 1 required keyword-only argument: 'source'"),
    "no_words": (
        [(INSTRUMENT, '    """Compute the length ‖x‖ of every vector along the last axis."""\n', "")],
        "needs a docstring",
    ),
    "exits": (
        [(STUDY, '"half-active"', '"half".strip()'), (STUDY, "STUDY = ", "import sys\n\nsys.exit(0)\nSTUDY = ")],
        "the code calls sys.exit(0)",
    ),
    "syntax": ([(STUDY, "STUDY = ", "def (:\nSTUDY = ")], "SyntaxError: invalid syntax"),
    "huge_text": ([(STUDY, POINTS, 'points: str = "a" * 10**9 * 10')], "is too long"),
    "huge_power": ([(STUDY, POINTS, "points: int = 10**10**10")], "is too large"),
    "huge_width": ([(STUDY, POINTS, 'points: str = f"{5:1000000000}"')], "is formatted with a width of"),
    "not_a_study": ([(STUDY, "HalfActive(Study)", "HalfActive")], "expected STUDY to be a Study"),
    "not_an_input": ([(THEOREM, ONE, 'class OneNetwork:\n    """x"""\n    title = "t"')], "expected subclasses of"),
    "id_slash": ([(THEOREM, 'id="XX.T1"', 'id="XX/T1"')], "ids: expected a tuple of ids"),
    "name_space": ([(MEASUREMENT, '"longest"\n', '"the longest"\n')], "name: expected a name of letters"),
    "name_int": ([(MEASUREMENT, '"longest"\n', "5\n")], "name: expected a name of letters"),
    "no_name": ([(MEASUREMENT, '    name: ClassVar = "longest"\n', "")], "name: expected a name of letters, digits"),
    "verb": (
        [(MEASUREMENT, 'name: ClassVar = "longest"\n', 'name: ClassVar = "list"\n    verb: ClassVar = True\n')],
        "relulab list is a command already",
    ),
    "same_measurement": ([(MEASUREMENT, '"longest"\n', '"max-margin"\n')], "has the name or id 'max-margin' already"),
    "same_theorem": ([(THEOREM, 'id="XX.T1"', 'id="SS.L1"')], "has the name or id 'ss.l1' already"),
    "same_study": ([(STUDY, '"half-active"', '"recovery"')], "has the name or id 'recovery' already"),
    "same_instrument": ([(INSTRUMENT, "def lengths(", "def correlation("), (MEASUREMENT, "import lengths\n",
                         "import correlation as lengths_same_instrument\n")], "name or id 'correlation' already"),
    **{f"option_{field}": ([(MEASUREMENT, "shown", field)], f"option or argument {field!r} of its own")
       for field in ("out", "json", "json_", "figure", "help")},
    **{f"input_{field}": (with_field(field), f"option or argument {field!r} of its own")
       for field in ("id", "runs", "set_", "json_", "set", "json", "help")},
    "option_no": ([(MEASUREMENT, "shown: int = 3", 'all: bool = True\n    """A."""\n    no_all: int = 3\n    '
                    '"""B."""\n    shown: int = 3')], "both have the option --no-all"),
}  # fmt: skip
# Unusual but legal: listed, with what relulab show says about it.
LEGAL = {
    "loose_demonstrations": ([(THEOREM, "    demonstrations=(\n",
                               "    demonstrations=DEMONSTRATIONS,\n)\nUNUSED = dict(a=(\n"),
                              (THEOREM, "THEOREM = ", f"DEMONSTRATIONS = ({FIRST}, Demonstration('b', "
                               "Verdict.NOT_APPLICABLE, lambda: case(5, 4)), Demonstration('c', Verdict.REFUTED, "
                               "lambda: case(5, 5, True)))\nTHEOREM = ")], ("demonstrations", "c", "REFUTED")),
    "named_demonstration": ([(THEOREM, FIRST, FIRST.replace('("Two', '(name="Two')
                              .replace("Verdict.H", "expected=Verdict.H").replace("lambda", "run=lambda"))],
                            ("demonstrations", "Two random vectors", "HOLDS")),
    "positional": ([(THEOREM, 'id="XX.T1",', '"XX.T1",')], ("theorem", None, "POSITIONAL.T1")),
    "dict_call": ([(THEOREM, ON, "on=dict([(OneNetwork, of_outputs)])")], ("on files", None, "--set first=0")),
    "keywords": ([(THEOREM, 'symbols={"a": "a vector", "b": "a vector", "‖a‖": "the Euclidean norm of a"},',
                   "**dict(symbols={}),")], ("theorem", None, "KEYWORDS.T1")),
    "module_base": ([(MEASUREMENT, ONE, "from relulab.lab.inputs import one_network"),
                     (MEASUREMENT, "(OneNetwork, M", "(one_network.OneNetwork, M")], ("options", "network", "")),
    "other_package": ([(MEASUREMENT, ONE, "from shared_inputs import Mine"),
                       (MEASUREMENT, "(OneNetwork, M", "(Mine, M")], ("options", "extra", "More.")),
    "same_class_name": ([(MEASUREMENT, ONE, f'{ONE} as One\n\n\nclass OneNetwork(One):\n    """x"""\n\n'
                          '    more: int = 1\n    """More."""\n')], ("options", "more", "More.")),
    "set_twice": (constant("N = 5\nN = N * 4000"), ("fields", "points", 20_000)),
    "set_in_if": (constant("N = 5\nif True:\n    N = 20_000"), ("fields", "points", 20_000)),
    "decorator": ([(INSTRUMENT, "from relulab.lab.instrument import instrument", "import relulab.lab.instrument as I"),
                   (INSTRUMENT, "@instrument", "@I.instrument")], ("instrument", None, "lengths_decorator")),
    "renamed_import": ([], ("study", None, "half-renamed_import")),
    "from_relulab": ([(STUDY, "from relulab.lab.study import Study, Tick, Unit",
                       "from relulab import Study, Unit\nfrom relulab.lab.study import Tick")], ("fields", "root", 0)),
    "byte_order_mark": ([], ("fields", "points", 20_000)),
}  # fmt: skip
# Subjects that are left out as a whole.
SUBJECTS = {
    "missing": "the package missing_package is not installed",
    "init_syntax": "invalid syntax",
    "namespace": "No such file or directory",
    "single": "is not a folder of Python files",
    "colon": "expected the name of a package alone",
    "extra": "expected the name of a package alone",
    "nothing_there": "No such file or directory",
    "zipped": "is not a folder of Python files",
    "bias": "there is a subject of this name already, relulab.subjects.bias",
}


@pytest.fixture(scope="module")
def call(tmp_path_factory):
    """The command line with all of these packages installed."""
    site, work = tmp_path_factory.mktemp("site"), tmp_path_factory.mktemp("work")
    for name, (edits, _) in {**BROKEN, **LEGAL}.items():
        plug_in(site, name, edits)
    (site / "shared_inputs.py").write_text(
        f'{ONE}\n\n\nclass Mine(OneNetwork):\n    """m"""\n\n    extra: int = 1\n    """More."""\n'
    )
    study = (site / "renamed_import" / STUDY).read_text().replace("\nSTUDY = HalfActive\n", "")
    (site / "renamed_import" / "base.py").write_text(study)
    (site / "renamed_import" / STUDY).write_text("from renamed_import.base import HalfActive as STUDY\n")
    marked = site / "byte_order_mark" / STUDY
    marked.write_bytes(b"\xef\xbb\xbf" + marked.read_bytes())
    plug_in(site, "odd_files", more={"studies/latin.py": b"# \xe9\nSTUDY = 1\n", "studies/x.py": None})
    plug_in(site, "same_paper", tag="SS", without=[STUDY, THEOREM])
    plug_in(site, "papers_import", [("papers.py", "PAPERS", "import nowhere\n\nPAPERS")])
    plug_in(site, "papers_type", more={"papers.py": 'PAPERS = ("XX",)\n'})
    plug_in(site, "init_import", more={"__init__.py": '"""T."""\n\nimport nowhere\n'})
    plug_in(site, "study_import", [(STUDY, "import numpy as np", "import numpy as np\nimport nowhere")])
    subjects(site)
    return caller(site, work)


def subjects(site) -> None:
    registered(site, "missing", "missing_package")
    plug_in(site, "init_syntax", more={"__init__.py": "def (:\n"})
    plug_in(site, "namespace", without=["__init__.py"])
    (site / "single.py").write_text('"""A file."""\n')
    registered(site, "single", "single")
    plug_in(site, "colon", point="colon:subject")
    plug_in(site, "extra", point="extra [more]")
    plug_in(site, "nothing_there", point="nothing_there.deeper")
    registered(site, "zipped", "zipped")
    with zipfile.ZipFile(site / "zipped.zip", "w") as archive:
        archive.writestr("zipped/__init__.py", '"""Z."""\n')
    registered(site, "second_bias", "papers_type", subject="bias")


@pytest.fixture(scope="module")
def listed(call):
    """What is listed, as triples of subject, kind and name, and the lines on stderr."""
    code, out, err = call("list", "--json")
    assert code == 0, err
    return [(row["subject"], row["kind"], row["name"]) for row in json.loads(out)], err.splitlines()


def module(name: str, file: str) -> str:
    return f"{name}.{file.removesuffix('.py').replace('/', '.')}"


def kinds_of(listed: list, name: str) -> set[str]:
    return {kind for subject, kind, _ in listed if subject == name}


def kind_of(file: str) -> str:
    return KINDS[file.partition("/")[0]]


def test_a_broken_file_is_left_out_with_one_sentence(listed):
    rows, lines = listed
    for name, (edits, sentence) in BROKEN.items():
        file = edits[0][0]
        said = [line for line in lines if line.startswith(f"relulab: {module(name, file)} ")]
        assert len(said) == 1 and sentence in said[0], (name, said)
        assert kinds_of(rows, name) == set(KINDS.values()) - {kind_of(file)}, name
    for file, why in (("latin", "is not UTF-8 text"), ("x", "Is a directory")):
        said = [line for line in lines if line.startswith(f"relulab: odd_files.studies.{file} cannot be read")]
        assert len(said) == 1 and why in said[0]
    assert len(lines) == len(BROKEN) + 2 + len(SUBJECTS) and kinds_of(rows, "odd_files") == set(KINDS.values())


def test_a_broken_subject_is_left_out_with_one_sentence(listed, call):
    rows, lines = listed
    for name, sentence in SUBJECTS.items():
        said = [line for line in lines if line.startswith(f"relulab: the subject {name!r} ")]
        assert len(said) == 1 and sentence in said[0], (name, said)
        assert name == "bias" or not kinds_of(rows, name)
    code, out, err = call("--help")
    assert code == 0 and "reproduce" in out and all(f"the subject {name!r}" in err for name in SUBJECTS)


DOCUMENTS = """
import json
from relulab.lab.catalog import studies, theorems
from relulab.lab.index import PROBLEMS, entry, entries
from relulab.lab.show.entry_document import document
found = {one.subject + " " + one.kind: document(one) for one in entries()}
known = [*studies(), *theorems()]
print(json.dumps([found, known, PROBLEMS]))
"""


@pytest.fixture(scope="module")
def documents(call):
    code, out, err = call(code=DOCUMENTS)
    assert code == 0, err
    return json.loads(out)


def test_unusual_but_legal_files_are_listed_correctly(listed, documents):
    rows, lines = listed
    for name, (edits, (key, part, value)) in LEGAL.items():
        assert kinds_of(rows, name) == set(KINDS.values()) and not any(f" {name}." in line for line in lines), name
        shown = documents[0][f"{name} {kind_of(edits[0][0] if edits else STUDY)}"][key]
        shown = shown[part] if part else shown
        assert shown == value or (value in shown if isinstance(value, str) else False), (name, shown)


def test_a_study_that_cannot_be_imported_is_skipped(documents, call):
    _, known, problems = documents
    assert "half-study_import" not in known and {"recovery", "SS.L1", "half-odd_files"} <= set(known)
    assert "half_active.py, line 6: ModuleNotFoundError" in problems["study_import.studies.half_active"]
    code, out, err = call("run", "half-study_import")
    assert code == 2 and "half_active.py, line 6: ModuleNotFoundError: No module named 'nowhere'" in err and not out


def test_what_was_there_first_wins(call, here):
    code, out, err = call("cite", "SS.F7")
    assert (code, out) == (0, here("cite", "SS.F7")[1])
    for sentence in (
        "the paper SS of same_paper.papers is left out", "papers_import.papers cannot be imported",
        "papers_type.papers is left out: expected PAPERS", "init_import.papers cannot be imported",
    ):  # fmt: skip
        assert err.count(sentence) == 1, sentence
    code, out, err = call("check", "triangle-same_theorem")
    assert code == 2 and "has the name or id 'ss.l1' already" in err and not out


def test_an_error_in_a_theorem_names_its_file_and_line(call, tmp_path):
    np.savez(tmp_path / "net.npz", W1=np.ones((4, 6)), W2=np.ones((6, 2)))
    np.save(tmp_path / "x.npy", np.ones((20, 4)))
    files = ("--network", str(tmp_path / "net.npz"), "--data", str(tmp_path / "x.npy"))
    code, out, err = call("check", "ODD0FILES.T1", *files, "--set", "second=99")
    assert code == 2 and not out and "odd_files/theorems/triangle.py, line " in err and "IndexError" in err


def test_the_reserved_names_are_those_of_the_command_line():
    commands = {command.name for command in build("list").registered_commands} | {"measure"}
    assert commands - {entry.name for entry in entries("measurement")} == set(COMMANDS)
    parameters = inspect.signature(_check).parameters
    assert {*parameters, *(name.rstrip("_") for name in parameters)} <= set(CHECK_NAMES)


def test_a_shell_completes_what_was_typed_in_lower_case():
    words = [sys.executable, "-c", f"import sys; sys.argv[0] = 'relulab'; {MAIN}"]
    env = os.environ | {"_RELULAB_COMPLETE": "complete_bash", "COMP_WORDS": "relulab check ss.l", "COMP_CWORD": "2"}
    done = subprocess.run(words, env=env, capture_output=True, text=True, timeout=100)
    assert "ss.l1" in done.stdout.lower().split(), done
