"""The command line, mostly in this process and sometimes in a separate one."""

import dataclasses
import json
import subprocess
import sys
from importlib.metadata import version

import pytest
from resealed import resealed

from relulab import UserError, Verdict, find_study
from relulab.lab.catalog import studies, theorems
from relulab.lab.show.animation import animated

RELULAB = [sys.executable, "-c", "from relulab.lab.cli import main; main()"]


def relulab(*words: str, cwd=None, **options) -> subprocess.CompletedProcess:
    return subprocess.run([*RELULAB, *words], capture_output=True, text=True, cwd=cwd, timeout=600, **options)


def test_version(here):
    assert here("--version")[1].strip() == version("relulab")


def test_a_check_is_printed_even_if_it_cannot_be_saved(here, tmp_path):
    (tmp_path / "runs").write_text("a file")
    code, out, err = here("check", "SS.L1")
    assert code == 0 and "HOLDS" in out and "was not saved for the report" in err


def test_help_does_not_import_torch():
    code = (
        "import sys\nfrom relulab.lab.cli import main\nsys.argv = ['relulab', '--help']\n"
        "try: main()\nexcept SystemExit: pass\n"
    )
    heavy = "print([m for m in ('torch', 'xarray', 'matplotlib', 'scipy') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code + heavy], capture_output=True, text=True)
    assert "reproduce" in done.stdout and done.stdout.strip().endswith("[]"), done.stderr


@pytest.mark.parametrize("words, sentence", [
    (["run", "SS.F77"], "did you mean 'SS.F7'?"),
    (["run", "SS.F7", "--set", "epoch=3"], "did you mean 'epochs'?"),
    (["run", "SS.F7", "--set", "over=-3"], "greater than 0"),
    (["run", "SS.F7", "--set", "seeds=many"], "valid integer"),
    (["check", "SS.L11"], "did you mean 'SS.L1'?"),
    (["show", "recovry"], "did you mean 'recovery'?"),
    (["report"], "run a study first"),
])  # fmt: skip
def test_user_errors_exit_with_2_before_anything_runs(words, sentence, here, tmp_path):
    code, out, err = here(*words)
    assert code == 2 and sentence in err and not out
    assert err.count("\n") == 1 and not list(tmp_path.iterdir())


def test_a_user_error_in_a_separate_process(tmp_path):
    done = relulab("run", "SS.F7", "--set", "epoch=3", cwd=tmp_path)
    assert done.returncode == 2 and done.stderr == "relulab: recovery has no field 'epoch': did you mean 'epochs'?\n"


def test_an_internal_error_exits_with_3_and_asks_for_a_bug_report(here, monkeypatch):
    monkeypatch.setattr("relulab.lab.index.entries", lambda: 1 / 0)
    code, _, err = here("list")
    assert code == 3 and "bug in relulab" in err and "Traceback" not in err


RUN = ("run", "SS.F7", "--preset", "smoke", "--set", "steps=10", "--workers", "1", "--json")
SEED_STEPS = 2 * 2 * 3 * 10  # widths, seeds, epochs, steps of each


def test_run_then_again_then_report(here, tmp_path):
    code, out, err = here(*RUN)
    document = json.loads(out)
    assert code == 0 and not err
    assert document["study"] == "recovery" and document["preset"] == "smoke" and document["seed_steps"] == SEED_STEPS
    assert all(set(c) >= {"id", "says", "measured", "low", "high", "criterion", "verdict"} for c in document["claims"])
    assert json.loads(here(*RUN)[1]) == document
    report = json.loads(here("report", "--json")[1])
    assert (tmp_path / report["report"]).exists()


def test_a_refuted_claim_exits_with_1(here, tmp_path):
    path = tmp_path / json.loads(here(*RUN)[1])["run"] / "claims.json"
    claims = json.loads(path.read_text())
    path.write_text(json.dumps([{**claims[0], "verdict": "REFUTED"}]))
    resealed(path.parent)
    assert here(*RUN)[0] == 1


def test_check_prints_all_documented_fields_and_exits_with_0(here):
    code, out, _ = here("check", "SS.L1", "--json")
    document = json.loads(out)
    assert code == 0 and document["theorem"] == "SS.L1"
    keys = {"says", "measured", "relation", "bound", "error", "holds"}
    for d in document["demonstrations"]:
        assert d["verdict"] == d["expected"]
        assert all(set(c) >= keys for part in ("conditions", "conclusion") for c in d[part])
    assert {d["verdict"] for d in document["demonstrations"]} == {"HOLDS", "NOT_APPLICABLE", "REFUTED"}


def test_check_exits_with_1_after_an_unexpected_verdict(here, monkeypatch):
    theorem = theorems()["SS.L1"]
    wrong = dataclasses.replace(theorem.demonstrations[0], expected=Verdict.REFUTED)
    demonstrations = (wrong, *theorem.demonstrations[1:])
    changed = dataclasses.replace(theorem, demonstrations=demonstrations)
    monkeypatch.setattr("relulab.subjects.specialization.theorems.gradient_rule.THEOREM", changed)
    code, out, _ = here("check", "SS.L1")
    assert code == 1 and "HOLDS (but expected: REFUTED): Depth 4" in out


def test_list_env_and_show_print_one_document(here):
    rows = json.loads(here("list", "--json")[1])
    assert {"study", "theorem", "instrument", "measurement"} == {row["kind"] for row in rows}
    assert all({"name", "ids", "title", "presets"} <= set(row) for row in rows)
    assert json.loads(here("env", "--json")[1])["packages"]["torch"]
    document = json.loads(here("show", "SS.F7", "--json")[1])
    assert document["fields"]["sigma"] == 1.5
    smoke, quick, paper = (document["cost"][preset] for preset in ("smoke", "quick", "paper"))
    assert 0 < smoke < quick < paper / 5
    assert "paper about" in " ".join(here("show", "SS.F7")[1].split())


def test_show_describes_a_study_before_it_imports_it(here, monkeypatch, capsys):
    shown = []

    def costs(name):
        shown.append(capsys.readouterr().out)
        return {}

    monkeypatch.setattr("relulab.lab.run.costs.costs", costs)
    here("show", "SS.F7")
    assert "run      relulab run recovery --preset quick" in shown[0]


def test_show_says_that_a_cost_depends_on_missing_data(here, monkeypatch):
    def missing(study):
        raise UserError("no data")

    monkeypatch.setattr(type(find_study("LM.F6").configured("smoke")), "units", missing)
    assert "smoke, quick, paper not known without the data on" in " ".join(here("show", "LM.F6")[1].split())


@pytest.mark.parametrize("words", [["list"], ["env"], ["show", "SS.F7"], ["show", "SS.L1"], ["show", "mean_rank"]])
def test_list_env_and_show_print_text(words, here):
    code, out, err = here(*words)
    assert code == 0 and len(out.splitlines()) > 4 and not err


def test_show_says_how_to_choose_between_things_of_one_name(here):
    code, out, _ = here("show", "correlation")
    assert code == 0 and out.startswith("instrument") and "relulab show correlation --kind measurement" in out
    code, out, _ = here("show", "correlation", "--kind", "measurement")
    assert code == 0 and out.startswith("measurement") and "the instrument: relulab show correlation" in out
    document = json.loads(here("show", "ss.t1", "--json")[1])
    assert document["theorem"] == "SS.T1"
    assert document["also"] == [f"the instrument: relulab show {name}" for name in ("alignment", "observers")]
    assert "also" not in json.loads(here("show", "recovery", "--json")[1])


@pytest.mark.parametrize("kind, says", [
    ("theorm", "--kind: there is no kind 'theorm': did you mean 'theorem'"),
    ("study", "expected a study, but SS.T1 is a theorem"),
])  # fmt: skip
def test_show_refuses_a_wrong_kind(kind, says, here):
    code, out, err = here("show", "SS.T1", "--kind", kind)
    assert code == 2 and not out and err.count("\n") == 1 and says in err


def test_show_and_check_explain_symbols_and_terms(here):
    for words in (["show", "SS.T1"], ["check", "SS.T1"]):
        out = " ".join(here(*words)[1].split())
        assert "no two of which share a hyperplane" in out  # the statement
        assert "v_kᵀv*_j, the inner product of the output weights" in out
        assert "active somewhere on that hyperplane within the region" in out
    symbols = json.loads(here("show", "SS.F7", "--json")[1])["symbols"]
    assert "polarity p" in symbols and "held-out" in symbols
    assert "soft label" in json.loads(here("show", "transfer-risk", "-k", "measurement", "--json")[1])["symbols"]


@pytest.mark.parametrize("word, kind, name", [
    ("IB.T1", "theorem", "max-margin-neurons"),
    ("max-MARGIN", "instrument", "max_margin"),
    ("two-layer", "study", "two-layer-rays"),
    ("spherical", "theorem", "spherical-push"),
    ("bias", "study", "max-margin-limit"),
])  # fmt: skip
def test_list_filters_by_a_word(word, kind, name, here):
    everything, found = (json.loads(here("list", *words, "--json")[1]) for words in ([], [word]))
    assert (kind, name) in {(row["kind"], row["name"]) for row in found} and len(found) < len(everything)
    plain = word.lower()
    for row in everything:
        told = " ".join([*row["ids"], row["name"], row["name"].replace("_", "-"), row["title"], row["kind"]])
        assert (row in found) == (plain in f"{told} {row['subject']}".lower())
    code, out, err = here("list", word)
    assert code == 0 and not err and len(out.splitlines()) > len(found) and name in out


def test_list_filters_by_kind_and_reports_no_match(here):
    assert {row["kind"] for row in json.loads(here("list", "theorem", "--json")[1]) if row["ids"]} >= {"theorem"}
    for more in ([], ["--json"]):
        code, out, err = here("list", "zebra", *more)
        assert code == 2 and not out and err.count("\n") == 1 and "contains 'zebra'" in err


def test_a_check_uses_the_width_of_a_terminal_and_indents_continued_lines(here, monkeypatch):
    monkeypatch.setattr("relulab.lab.cli.terminal.console._width", 80)
    document = json.loads(here("check", "SS.L1", "--json")[1])
    lines = here("check", "SS.L1")[1].splitlines()
    words = " ".join(" ".join(lines).split())
    for d in document["demonstrations"]:
        assert f"{d['verdict']} (as expected): {d['name']}" in words
        assert all(f"{c['says']}: " in words for part in ("conditions", "conclusion") for c in d[part])
    assert max(len(line.rstrip()) for line in lines) in range(66, 81)
    assert all(line.startswith(("  ✓ ", "  ✗ ", "    ")) for line in lines if line.startswith(" "))
    assert any(line.startswith("    ") for line in lines)


def test_reproduce_ends_with_a_report(here, tmp_path, monkeypatch):
    """Every study for real, but for most frames of animations; demonstrations have tests of their own."""
    demonstrated = []

    def at_once(theorem):
        demonstrated.append(theorem.id)
        checks = {"conditions": [], "conclusion": []}
        rows = [{"name": d.name, "expected": d.expected.name, "verdict": d.expected.name, **checks}
                for d in theorem.demonstrations]  # fmt: skip
        return {"theorem": theorem.id, "demonstrations": rows}

    monkeypatch.setattr("relulab.lab.theorem.Theorem.demonstrate", at_once)
    monkeypatch.setattr("relulab.lab.run.job.animated", lambda moves: animated(dataclasses.replace(moves, frames=3)))
    monkeypatch.delenv("RELULAB_DATA", raising=False)
    code, out, err = here("reproduce", "--preset", "smoke", "--workers", "1")
    assert code == 0, err
    assert demonstrated == list(theorems())
    assert (tmp_path / "report" / "index.html").exists() and "report/index.html" in out
    told = {path.parent.parent.name for path in (tmp_path / "runs").glob("*/*/claims.json")}
    assert told == {study.name for study in studies().values() if not study.needs} and "digit-features" in err
