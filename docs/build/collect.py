"""Keeps what the docs show of stored runs: figures, claims and demonstrations, and the tables of the README.

    python docs/build/collect.py RUNS

The largest unchanged preset of each study is taken, as in the report.
"""

import argparse
import json
import re
import shutil
from collections import Counter
from io import BytesIO
from pathlib import Path
from typing import Any

from PIL import Image

from relulab.lab.run.store import MARKER
from relulab.lab.show.report.finished_run import FinishedRun, read_check, read_run
from relulab.lab.show.report.forms import Unreadable
from relulab.lab.show.report.overview import one_per_study, sections
from relulab.lab.show.words import VERDICTS, number

DOCS = Path(__file__).parent.parent
WORDS = {"HOLDS": "hold", "REFUTED": "are refuted", "INCONCLUSIVE": "are inconclusive", "NOT_JUDGED": "are not judged"}
WIDTH = 1400  # pixels of a figure


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", type=Path)
    runs = parser.parse_args().runs
    target = DOCS / "results"
    target.mkdir(exist_ok=True)
    for old in target.glob("*.png"):
        old.unlink()
    shown = [run for section in sections(one_per_study(finished(runs)), []) for run in section.runs]
    studies = [study(run, target) for run in shown]
    checks = {path.stem: read_check(path).about.model_dump() for path in sorted(runs.glob("checks/*.json"))}
    for name, content in (("studies", studies), ("checks", checks)):
        text = json.dumps(content, ensure_ascii=False, indent=1)
        (target / f"{name}.json").write_text(text + "\n", encoding="utf-8")
    readme = DOCS.parent / "README.md"
    readme.write_text(with_claims(readme.read_text(encoding="utf-8"), studies), encoding="utf-8")


def finished(runs: Path) -> list[FinishedRun]:
    found = []
    for path in sorted({file.parent for file in runs.glob(f"*/*/{MARKER}")}):
        try:
            found.append(read_run(path))
        except Unreadable as reason:
            print(f"{path} is left out: {reason}")
    return found


def study(run: FinishedRun, target: Path) -> dict[str, Any]:
    """What the gallery needs of a run; its figures are written smaller."""
    figures = []
    for one in run.figures:
        file = f"{run.about.study}-{one.figure}.png"
        small(run.path / "figures" / f"{one.figure}.png", target / file)
        figures.append({"figure": one.figure, "caption": one.caption, "file": file})
    for one in run.animations:
        file = f"{run.about.study}-{one.animation}.gif"
        shutil.copyfile(run.path / "figures" / f"{one.animation}.gif", target / file)
        figures.append({"figure": one.animation, "caption": one.caption or one.words, "file": file})
    about = run.about
    return {
        "study": about.study, "title": about.title, "ids": about.ids, "source": about.source, "about": about.about,
        "preset": about.preset, "figures": figures, "claims": [claim.model_dump() for claim in run.claims],
        "symbols": run.symbols,
    }  # fmt: skip


def small(source: Path, target: Path) -> None:
    with Image.open(source) as picture:
        picture = picture.convert("RGB")
        if picture.width > WIDTH:
            picture = picture.resize((WIDTH, round(picture.height * WIDTH / picture.width)), Image.Resampling.LANCZOS)
        content = BytesIO()
        picture.quantize(96).save(content, "PNG", optimize=True)
    target.write_bytes(content.getvalue())


def interval(row: dict[str, Any]) -> str:
    """A measured number with its interval."""
    return f"{number(row['measured'])} [{number(row['low'])}, {number(row['high'])}]"


def with_claims(text: str, studies: list[dict[str, Any]]) -> str:
    """The README with the first claim of each study, and every claim that did not hold, in its table."""
    rows = ["| item | claim | measured [95%] | control [95%] | verdict |", "| --- | --- | --- | --- | --- |"]
    for one in studies:
        for i, claim in enumerate(one["claims"]):
            if i == 0 or claim["verdict"] != "HOLDS":
                measured, control = interval(claim), interval(claim["control"]) if claim.get("control") else "–"
                says = f"{claim['says']} ({claim['statistic']})" if claim["statistic"] else claim["says"]
                says = says.replace("|", "∣")
                verdict = VERDICTS[claim["verdict"]]
                rows.append(f"| {claim['id'].rpartition('.')[0]} | {says} | {measured} | {control} | {verdict} |")
    presets = " and ".join(f"`{preset}`" for preset in sorted({one["preset"] for one in studies}))
    found = Counter(claim["verdict"] for one in studies for claim in one["claims"] if not claim.get("check"))
    score = ", ".join(f"{found[name]} {word}" for name, word in WORDS.items() if found[name])
    score = score.replace(" 1 are ", " 1 is ")
    checks = [claim for one in studies for claim in one["claims"] if claim.get("check")]
    passed = sum(claim["verdict"] == "HOLDS" for claim in checks)
    about = (
        f"{found.total()} claims, from runs on {presets}: {score}. {passed} of {len(checks)} checks of the code pass. "
        "The table has the first claim of each study and every claim that did not hold; the control is the same number "
        "where the stated cause is missing, for example before training:"
    )
    table = "\n".join(["<!-- CLAIMS -->", about, "", *rows, "<!-- /CLAIMS -->"])
    return re.sub(r"<!-- CLAIMS -->.*<!-- /CLAIMS -->", lambda _: table, text, flags=re.DOTALL)


if __name__ == "__main__":
    main()
