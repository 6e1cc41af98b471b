"""American spelling in all code, messages and pages."""

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
# British forms by their stems; the few words that look like them are taken out again.
BRITISH = re.compile(
    r"(?i)\b\w*(?:"
    r"(?:special|general|normal|optim|minim|maxim|polar|regular|real|factor|penal|initial|recogn|summar|visual|organ"
    r"|character|discret|linear|memor|random|serial|stabil|synchron|vector|quant|symmetr|parametr|standard|util|local"
    r"|final|priorit|sanit|orthogonal|diagonal|equal|ideal|emphas|categor|token|author|central|critic|custom|modern"
    r"|neutral|capital|apolog|analog|crystall|hypothes|summar)is(?:e[ds]?|ing|ers?|ations?|able)\b"
    r"|analys(?:e[ds]?|ing)\b|paralys(?:e[ds]?|ing)\b|catalys(?:e[ds]?|ing)\b"
    r"|(?:behavi|col|fav|flav|harb|hon|hum|lab|neighb|rum|sav|vap|vig)our(?!ier)"
    r"|(?:label|model|travel|cancel|signal|channel|total|level|fuel|counsel|marvel|quarrel)l(?:ed|ing|er)(?!by)"
    r"|(?:cent|fib|theat|calib|lit|lust|meag|somb|spect)re(?:[ds])?\b|metre(?:s)?\b|catalogue|dialogue|analogue"
    r"|learnt\b|burnt\b|spelt\b|dreamt\b|whilst\b|amongst\b|towards\b|afterwards\b|grey\b|judgement|acknowledgement"
    r"|artefact|licence\b|defence\b|offence\b|practise|programme\b|sceptic|mould|plough|ageing\b|storey|tyre\b"
    r"|fulfil\b|enrol\b|instal\b|skilful|wilful|aluminium|cheque|draught|gaol|kerb|pyjama|set-up"
    r")"
)
NOT_ENGLISH = (
    "Towards Understanding",
    "Towards understanding",
    "cancelled()",
    "aria-labelledby",
    "littered",
    "literal",
    "fibre",
)
KEEPS = ("src/relulab/core/spelling.py", "tests/test_spelling.py", "constraints.txt")


def british(text: str) -> list[str]:
    for word in NOT_ENGLISH:
        text = text.replace(word, "")
    text = re.sub(r"(?<=[a-z])(?=[A-Z])|_", " ", text)  # names of classes and functions, word by word
    return [match.group() for match in BRITISH.finditer(text)]


def files() -> list[Path]:
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True)
    names = listed.stdout.splitlines() or [str(path.relative_to(ROOT)) for path in ROOT.rglob("*.py")]
    texts = (".py", ".md", ".html", ".css", ".js", ".toml", ".cff", "Makefile")
    return [ROOT / name for name in names if name.endswith(texts) and name not in KEEPS and (ROOT / name).is_file()]


def test_spelling_is_american():
    allowed = {"optimisation", "specialisation"}  # what users may type all the same
    found = {
        str(path.relative_to(ROOT)): words
        for path in files()
        if (words := [word for word in british(path.read_text(encoding="utf-8")) if word not in allowed])
    }
    assert found == {}


@pytest.mark.parametrize(
    "word",
    [
        "colour",
        "Labelled",
        "OptimisationBias",
        "is_labelled",
        "generalisation",
        "minimisers",
        "learnt",
        "analysed",
        "centre",
    ],
)
def test_british_words_are_noticed(word):
    assert british(f"the {word} of it")


@pytest.mark.parametrize(
    "text", ["raise noise precise", "our four hours", "rise otherwise", "analysis", "future.cancelled()"]
)
def test_other_words_are_not(text):
    assert british(text) == []
