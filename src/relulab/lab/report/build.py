"""Builds report/: an overview of claims by paper, a page a run, a page a theorem."""

import shutil
from collections import Counter
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from relulab.errors import UserError
from relulab.lab.papers import PAPERS, Paper, paper_of
from relulab.lab.store import Run, atomic, read_json
from relulab.lab.words import VERDICTS, number, span, value

ORDER = ("paper", "quick", "smoke")


def build(runs: Path, out: Path) -> Path:
    """Writes the report on all finished runs and all checks below ``runs``; returns its index page."""
    folders = [Run(path.parent) for path in sorted(runs.glob("*/*/claims.json"))]
    found = [_read_run(run.path) for run in folders if run.finished]
    checks, damaged = [], [str(run.path) for run in folders if not run.finished]
    for path in sorted((runs / "checks").glob("*.json")):
        try:
            checks.append(_read_check(path))
        except (ValueError, KeyError, TypeError):
            damaged.append(str(path))
    if not found and not checks:
        raise UserError(f"no finished run in {runs}: run one first, for instance relulab run SS.F7")
    pages = Environment(loader=PackageLoader("relulab.lab.report"), autoescape=True, undefined=StrictUndefined)
    pages.filters |= {"number": number, "span": span, "value": value}
    pages.globals |= {"verdicts": VERDICTS, "papers": PAPERS}
    shown = _one_a_study(found)
    for run in found:
        _copy_figures(run, out)
        _write(out / run["page"], pages.get_template("run.html").render(run=run, root="../"))
    for check in checks:
        _write(out / check["page"], pages.get_template("theorem.html").render(check=check, root="../"))
    overview = _by_paper(shown, checks)
    _write(
        out / "index.html",
        pages.get_template("index.html").render(overview=overview, runs=found, damaged=damaged, root=""),
    )
    return out / "index.html"


def _read_run(path: Path) -> dict[str, Any]:
    about, env, status, claims, figures = (
        read_json(path / f"{name}.json") for name in ("config", "env", "status", "claims", "figures")
    )
    overrides = " ".join(f"--set {k}={_word(v)}" for k, v in about["changes"].items())
    return {
        **about, "path": path, "env": env, "status": status, "claims": claims, "figures": figures,
        "page": f"runs/{about['study']}-{path.name}.html", "folder": f"{about['study']}-{path.name}",
        "command": f"relulab run {about['study']} --preset {about['preset']} {overrides}".strip(),
        "counts": Counter(c["verdict"] for c in claims),
    }  # fmt: skip


def _word(v: Any) -> str:
    return ",".join(map(str, v)) if isinstance(v, list) else str(v)


def _read_check(path: Path) -> dict[str, Any]:
    check = read_json(path)
    right = all(d["expected"] == d["verdict"] for d in check["demonstrations"])
    return {**check, "page": f"theorems/{check['theorem']}.html", "right": right}


def _one_a_study(found: list[dict]) -> list[dict]:
    """The run that speaks for a study: plain presets before changed ones, the largest preset first, then the newest."""

    def rank(run: dict) -> tuple:
        preset = ORDER.index(run["preset"]) if run["preset"] in ORDER else len(ORDER)
        return (bool(run["changes"]), preset)

    newest = sorted(found, key=lambda run: run["status"]["updated"], reverse=True)
    best: dict[str, dict] = {}
    for run in sorted(newest, key=rank):
        best.setdefault(run["study"], run)
    return list(best.values())


def _by_paper(shown: list[dict], checks: list[dict]) -> list[dict]:
    rows = []
    for tag in dict.fromkeys([*PAPERS, *(paper_of(c["id"]) for run in shown for c in run["claims"])]):
        claims = [{**c, "run": run} for run in shown for c in run["claims"] if paper_of(c["id"]) == tag]
        theorems = [check for check in checks if paper_of(check["theorem"]) == tag]
        if claims or theorems:
            paper = PAPERS.get(tag, Paper(tag, tag, ""))
            counts = Counter(c["verdict"] for c in claims)
            rows.append({"paper": paper, "claims": claims, "theorems": theorems, "counts": counts})
    return rows


def _copy_figures(run: dict, out: Path) -> None:
    target = out / "figures" / run["folder"]
    target.mkdir(parents=True, exist_ok=True)
    for figure in (run["path"] / "figures").glob("*.*"):
        if not figure.name.startswith("."):
            shutil.copyfile(figure, target / figure.name)
    shutil.copyfile(run["path"] / "result.nc", target / "result.nc")


def _write(path: Path, text: str) -> None:
    with atomic(path) as part:
        part.write_text(text, encoding="utf-8")
