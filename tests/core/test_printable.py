"""Text from files is shown, not acted on, by a terminal."""

import json
from io import StringIO

import pytest
from rich.markup import escape

from relulab.core.printable import escaped, printable, shortened
from relulab.lab.show.console import Terminal

ACTS = ["\x1b[31m", "\x1b]8;;http://x\x07", "\r", "\x9b31m", "\u202e", "\u2066", "\x7f", "\ud800", "\u2028"]


@pytest.mark.parametrize("text", ACTS)
def test_what_acts_is_replaced_and_the_rest_is_kept(text):
    assert text[0] not in printable(f"a{text}b") and printable(f"a{text}b").startswith("a�")
    document = escaped(json.dumps({"k": text}, ensure_ascii=False))
    assert json.loads(document) == {"k": text} and printable(document) == document


def test_ordinary_text_is_kept():
    text = "Ungleichung ‖w_j‖ ≤ ½ für große n,\u00a0ℓ² → 0\n\tΩ ŵ 日本 é"
    assert printable(text) == text and escaped(json.dumps(text, ensure_ascii=False)) == json.dumps(
        text, ensure_ascii=False
    )


@pytest.mark.parametrize("text", ACTS)
def test_a_terminal_sends_only_its_own_sequences(text):
    stream = StringIO()
    terminal = Terminal(file=stream, force_terminal=True, color_system="standard")
    terminal.print(f"[bold]x[/] {escape(text)} [red]y[/]", highlight=False)
    own = stream.getvalue().replace("\x1b[1m", "").replace("\x1b[0m", "").replace("\x1b[31my", "y")
    assert own.startswith("x ") and own.endswith(" y\n") and all(c.isprintable() for c in own[:-1])


def test_long_words_are_cut():
    assert shortened("short words " * 1000) == "short words " * 1000
    assert len(shortened("x" * 100_000)) < 300
