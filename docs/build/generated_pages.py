"""The pages of the site that are made from the code and from stored results."""

import json
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from relulab.core.door import LINE
from relulab.lab.index import Entry, entries, papers, subjects
from relulab.lab.paper import paper_of
from relulab.lab.show.claim_symbols import claim_texts
from relulab.lab.show.entry_document import document, usages
from relulab.lab.show.symbols import used_symbols
from relulab.lab.show.typeset import is_word
from relulab.lab.show.words import VERDICTS, check_detail, claim_detail, control_detail

DOCS = Path(__file__).parent.parent
RESULTS = DOCS / "results"
ROOMS = {
    "nets": "Networks",
    "io": "Files",
    "train": "Training",
    "flow": "Gradient flow",
    "lab": "The laboratory",
    "core": "Errors",
}
SIGNS = {True: "✓", False: "✗", None: "?"}


def generated_pages() -> dict[str, str]:
    """All generated pages: their text in Markdown by their path below the docs."""
    checks = json.loads((RESULTS / "checks.json").read_text(encoding="utf-8"))
    studies = json.loads((RESULTS / "studies.json").read_text(encoding="utf-8"))
    theorems = in_print_order(entries("theorem"))
    pages = {"gallery.md": gallery(studies), "measurements.md": measurements(), "theorems/index.md": index(theorems)}
    pages |= {f"theorems/{entry.ids[0]}.md": theorem(entry, checks.get(entry.ids[0])) for entry in theorems}
    pages["api/relulab.md"] = api("relulab", "relulab")
    return pages | {f"api/{name}.md": api(f"relulab.{name}", one.package) for name, one in subjects().items()}


def in_print_order(things: Sequence[Entry]) -> list[Entry]:
    """Things by paper, then in the order in which the paper prints them."""
    tags = list(papers())
    return sorted(
        things, key=lambda one: (tags.index(paper_of(one.ids[0])), papers()[paper_of(one.ids[0])].place(one.ids[0]))
    )


def gallery(studies: list[dict[str, Any]]) -> str:
    """Every figure of every study with its caption and the study's claims."""
    lines = ["# Gallery", "", "Every study that re-runs a figure or table of the papers, with its claims."]
    for tag, paper in papers().items():
        here = [study for study in studies if paper_of(study["ids"][0]) == tag]
        if here:
            lines += ["", f"## {paper.title}", "", f"{paper.reference} ({tag})"]
        for study in sorted(here, key=lambda one: paper.place(one["ids"][0])):
            lines += ["", f"### {study['title']}", "", study["about"].partition("\n\n")[0].replace("\n", " "), ""]
            for figure in study["figures"]:
                lines += [
                    f"![{study['title']}, {figure['figure']}](results/{figure['file']})",
                    "",
                    figure["caption"],
                    "",
                ]
            lines += [f"`relulab run {study['study']} --preset {study['preset']}` ({study['source']})", ""]
            lines += [claim(one) for one in study["claims"]]
            texts = [text for one in study["claims"] for text in claim_texts(one)]
            texts += [figure["caption"] for figure in study["figures"]]
            if symbols := used_symbols(study.get("symbols", {}), texts):
                lines += ["", "Symbols:", "", *listed(symbols)]
    return "\n".join(lines) + "\n"


def listed(symbols: dict[str, str]) -> list[str]:
    """Symbols and terms with their meanings."""
    return [f"- {symbol if is_word(symbol) else f'${symbol}$'}: {text}" for symbol, text in symbols.items()]


def claim(one: dict[str, Any]) -> str:
    detail = claim_detail(one["statistic"], one["measured"], one["low"], one["high"], one["criterion"])
    kind = " (a check of the code)" if one.get("check") else ""
    text = f"- {badge(one['verdict'])} **{one['says']}.**{kind} {detail[0].upper()}{detail[1:]}"
    if control := one.get("control"):
        text += f". {control_detail(*(control[name] for name in ('name', 'measured', 'low', 'high')))}"
    return text


def badge(verdict: str) -> str:
    return f'<span class="verdict {verdict}">{VERDICTS[verdict]}</span>'


def index(theorems: list[Entry]) -> str:
    """All theorems, by paper."""
    lines = ["# Theorems", "", "Each theorem is checked by numbers on cases where it holds, on cases where a condition"]
    lines += ["fails, and on a negative control: a false variant of the statement that must be refuted."]
    for tag, paper in papers().items():
        here = [one for one in theorems if paper_of(one.ids[0]) == tag]
        if here:
            lines += ["", f"## {paper.title}", ""]
        lines += [f"- [{one.title}]({one.ids[0]}.md) ({', '.join(one.ids)}): {one.about}" for one in here]
    lines += ["", "```{toctree}", ":hidden:", "", *(one.ids[0] for one in theorems), "```"]
    return "\n".join(lines) + "\n"


def theorem(entry: Entry, check: dict[str, Any] | None) -> str:
    """The page of a theorem: statement, symbols, demonstrations, print, and how to check it."""
    details, id = entry.details, entry.ids[0]
    lines = [f"# {entry.title}", "", f"{', '.join(entry.ids)}: {entry.source}", ""]
    lines += [f"> {line}" for line in entry.about.split("\n")]
    symbols = check["symbols"] if check else document(entry)["symbols"]
    lines += ["", "## Symbols and terms", "", *listed(symbols)] if symbols else []
    lines += ["", "## Demonstrations", "", f"`relulab check {id}` runs them."]
    for case in check["demonstrations"] if check else []:
        lines += ["", f"### {case['name'][0].upper()}{case['name'][1:]}", "", f"Verdict: {badge(case['verdict'])}", ""]
        for part, title in (("conditions", "Conditions"), ("conclusion", "Conclusion")):
            lines += ["", f"{title}:", "", *map(row, case[part])] if case[part] else []
    if details["in_print"]:
        lines += ["", "## In print", "", details["in_print"]]
    if on := usages(entry):
        lines += ["", "## Check it on your own data", "", "```sh", *on, "```"]
    lines += ["", "## In Python", "", f"`relulab.{entry.subject}.{entry.name.replace('-', '_')}`: see the"]
    lines += [f"[API](../api/{entry.subject}.md)."]
    return "\n".join(lines) + "\n"


def row(check: dict[str, Any]) -> str:
    detail = check_detail(
        check["detail"], *(check[name] for name in ("measured", "relation", "bound", "error", "holds"))
    )
    return f"- {SIGNS[check['holds']]} {check['says']}: {detail}"


def measurements() -> str:
    """What users can run on their own files, with all options."""
    lines = ["# Measurements", "", "What you can run on networks and data of your own, from files. Every command takes"]
    lines += ["`--json`. The same functions are part of the Python API."]
    for entry in entries("measurement"):
        about = document(entry)
        lines += ["", f"## {entry.name}", "", entry.about, "", "```sh", about["run"], "```", ""]
        arguments = (*entry.details["arguments"], "--out", "--figure")
        for name, meaning in about["options"].items():
            shown = name if name in arguments else f"--{name.replace('_', '-')}"
            lines.append(f"- `{shown}`: {meaning}")
    return "\n".join(lines) + "\n"


def api(name: str, package: str) -> str:
    """Every public name of a package with its documentation, by the folder that it is defined in."""
    door = import_module(package)
    source = Path(str(door.__file__)).read_text(encoding="utf-8")
    rooms: dict[str, list[str]] = {}
    for line in LINE.finditer(source):
        if line["module"] != "relulab.subjects":
            room = line["module"].removeprefix(f"{package}.").split(".")[0]
            rooms.setdefault(room, []).append(line["name"])
    lines = [f"# {name}", ""]
    for room, names in rooms.items():
        lines += [f"## {ROOMS.get(room, room.capitalize())}", "", "```{eval-rst}"]
        for one in names:
            kind = "class" if isinstance(getattr(door, one), type) else "function"
            lines += [f".. auto{kind}:: {name}.{one}", *(["   :members:"] if kind == "class" else []), ""]
        lines += ["```", ""]
    return "\n".join(lines) + "\n"
