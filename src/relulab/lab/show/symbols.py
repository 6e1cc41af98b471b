"""The symbols in running text, and which of them a list of symbols defines."""

import re
import unicodedata
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import NamedTuple

from relulab.lab.show.formula import SUBSCRIPTS, SUPERSCRIPTS, Token, decomposed, tokens
from relulab.lab.show.typeset import is_word, with_formulas

CLOSING = {"{": "}", "(": ")"}
# Notation that every reader knows: Σ, π, e^x, R^d, E[x], N(0, I), O(n), d/dt and dt.
KNOWN = re.compile(
    r"[ΣΠπ]|(?<![^\W\d_])(?:e(?=\^)|R(?=[\^²³⁴⁵⁶⁷⁸⁹¹ⁿᵈ])|E(?=[\[‖])|[NO](?=\()|I(?![\w*'])|d/dt|d[ts]\b)"
)
RUNNING = re.compile(r"(?!.*[A-Za-z]{3})(?:[A-Za-z]'*|[+−-]?\d)+")  # k, kj, l+1 or 2, but not the name in ρ_mean


class Symbol(NamedTuple):
    """A letter with its accent, star and prime, and its index: ``w̃*_j`` is the letter ``w̃*`` with the index ``j``."""

    letter: str
    index: str = ""

    def __str__(self) -> str:
        return unicodedata.normalize("NFC", f"{self.letter}_{self.index}" if self.index else self.letter)

    def defines(self, other: "Symbol") -> bool:
        """Whether the meaning of this symbol is also that of another: ``w_k`` defines ``w_j``, ``w_1`` and ``w_{l+1}``.

        >>> Symbol("w", "k").defines(Symbol("w", "1")), Symbol("w", "1").defines(Symbol("w", "2"))
        (True, False)
        """
        same = self.index == other.index
        runs = RUNNING.fullmatch(self.index) and re.search("[A-Za-z]", self.index) and RUNNING.fullmatch(other.index)
        return self.letter == other.letter and (same or bool(runs))


@lru_cache(maxsize=20_000)  # a page asks for each of its texts and for each list of symbols
def symbols_in(text: str) -> tuple[Symbol, ...]:
    """The symbols of all formulas in a text, in order, without repetitions. Indices are symbols, too.

    >>> [str(symbol) for symbol in symbols_in("the norm ‖w*_j‖ is at most ε²/√d, see SS.T1")]
    ['w*_j', 'j', 'ε', 'd']
    """
    found: dict[Symbol, None] = {}

    def collect(formula: str) -> str:
        found.update(dict.fromkeys(formula_symbols(formula)))
        return formula

    with_formulas(text, collect)
    return tuple(found)


@lru_cache(maxsize=20_000)
def formula_symbols(formula: str) -> tuple[Symbol, ...]:
    """The symbols of one formula, in order.

    >>> [str(symbol) for symbol in formula_symbols("p(θ)")]
    ['p', 'θ']
    """
    return tuple(_read(tokens(KNOWN.sub(" ", decomposed(formula)))))


def undefined(symbols: Mapping[str, str], texts: Iterable[str]) -> list[str]:
    """The symbols in texts that a list of symbols does not define.

    Args:
        symbols: Meanings by symbol. A key may be a formula, such as ``p(θ)``, which defines all symbols in it.
        texts: The texts.

    >>> undefined({"w_j": "weights of node j"}, ["‖w_j‖ ≤ ε for every j"])
    ['ε']
    """
    keys = [one for key in symbols for one in _of_key(key)]
    used = dict.fromkeys(symbol for text in texts for symbol in symbols_in(text))
    return [str(symbol) for symbol in used if not any(key.defines(symbol) for key in keys)]


def used_symbols(symbols: Mapping[str, str], texts: Iterable[str]) -> dict[str, str]:
    """The entries of a list of symbols that define a symbol in texts.

    Args:
        symbols: Meanings by symbol or by term with a symbol, such as ``polarity p``.
        texts: The texts.

    >>> used_symbols({"polarity p": "an exponent", "‖v_k‖": "a norm"}, ["for p = 0.5"])
    {'polarity p': 'an exponent'}
    """
    used = [symbol for text in texts for symbol in symbols_in(text)]
    return {key: text for key, text in symbols.items() if any(k.defines(u) for k in _of_key(key) for u in used)}


def _of_key(key: str) -> tuple[Symbol, ...]:
    return symbols_in(key) if is_word(key) else formula_symbols(key)


def _read(run: list[Token]) -> list[Symbol]:
    found: list[Symbol] = []
    at = 0
    while at < len(run):
        text = run[at].text
        at += 1
        if len(text) - 1 > len(text[1:].strip("\u0302\u0303\u0304\u0307\u0308")) or (len(text) == 1 and text.isalpha()):
            if text in SUPERSCRIPTS or text in SUBSCRIPTS:
                continue
            at, symbol, others = _scripted(run, at, text)
            found += [symbol, *others]
        elif text in "_^":
            at, script = _script(run, at)
            found += _read(script)
    return found


def _scripted(run: list[Token], at: int, letter: str) -> tuple[int, Symbol, list[Symbol]]:
    """Read what follows a letter: where it ends, the whole symbol, and the symbols in indices and powers."""
    index, others = "", []
    while at < len(run):
        text, spaced = run[at]
        if text in ("*", "'") and not spaced:
            letter, at = letter + text, at + 1
        elif text == "_":
            at, script = _script(run, at + 1)
            index += "".join(token.text for token in script)
            others += _read(script)
        elif text == "^":
            at, script = _script(run, at + 1)
            others += _read(script)
        elif text in SUBSCRIPTS or text in SUPERSCRIPTS:
            low = text in SUBSCRIPTS
            sign = SUBSCRIPTS[text] if low else SUPERSCRIPTS[text]
            index, at = index + sign * low, at + 1
            others += [Symbol(sign)] if sign.isalpha() else []
        else:
            break
    return at, Symbol(letter, index), others


def _script(run: list[Token], at: int) -> tuple[int, list[Token]]:
    """Read an index or a power: where it ends, and what is in it."""
    if at < len(run) and run[at].text in CLOSING:
        end = next((i for i in range(at, len(run)) if run[i].text == CLOSING[run[at].text]), len(run))
        return end + 1, run[at + 1 : end]
    end = at + 1
    while end < len(run) and not run[end].spaced and re.match(r"[^\W_]|'", run[end].text):
        if run[end].text in SUPERSCRIPTS or run[end].text in SUBSCRIPTS:
            break
        end += 1
    return end, run[at:end]
