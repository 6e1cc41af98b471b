"""Running text with formulas in it, found without any marks and set as MathML."""

import re
import unicodedata
from collections.abc import Callable
from functools import lru_cache
from html import escape

from relulab.lab.show.formula import FUNCTIONS, decomposed, mathml

ACCENT = "[\u0300-\u036f]"
LETTER = rf"[^\W\d_](?:{ACCENT})?"
SCRIPT = r"(?:\{[^{}]*\}|\([^()]*\)|[-−+]?[A-Za-z0-9α-ωϵ]+(?:\.\d+)?(?:')*|\*)"
RAISED = "[⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁼ᵀⁿⁱᵏᵈˡᵐ₀₁₂₃₄₅₆₇₈₉₊₋₌ₐₑᵢⱼₖₗₘₙₚᵣₛₜₓ]"
GREEK = "[α-ωϵϕΓΔΘΛΞΠΦΨΩℓ]"
START = "(?<![A-Za-z0-9])"
STRONG = (
    # a letter, a product such as xx in xxᵀ, or a function, with indices or powers
    rf"(?:{START}(?:[a-z]{{2}}(?=ᵀ)|{LETTER}'?\*?)|\b(?:{FUNCTIONS.pattern}))(?:[_^]{SCRIPT}|{RAISED}+)+\*?'?",
    rf"{START}{LETTER}\*(?![\w*])",  # w*
    rf"[‖|](?:\^{SCRIPT}|{RAISED}+)|\d+{RAISED}+|\d\^{SCRIPT}",
    rf"[‖√∑∏∫∂∇∈∉∩∪⊂⊥≤≥≠≈≪≫∝∞⋯½¼¾⅓⅔]|Σ(?:_{SCRIPT})?",
    rf"(?<![A-Za-z]){GREEK}{ACCENT}?'*|{START}[^\W\d_]{ACCENT}",
    r"\bd[tsx]\b|\b\d+(?:\.\d+)?e[+-]?\d+\b",  # of an integral; a number such as 1e-06
)
PIECES = {
    "code": r"``?[^`]+``?",
    "id": r"\b[A-Z][A-Z0-9]+(?:\.[\w.-]*\w)?\b"
    r"|\b[A-Za-z]\w*+\.\w++(?:\.\w++)*+\.?(?<!\d)\b|--\w[\w-]*|\b(?<!/)\w++(?:/\w++)*+\.[a-z]\w*\b"
    r"|(?:(?<![\s\S])|(?<=, )|(?<=\. ))[A-Z]\.(?= [A-Z])"  # initials of a name
    r"|(?<=[a-z.] )[A-Z]\.\d+"  # lemma D.3
    r"|(?<!\w)\((?:[A-Z]\.\d+|\d+\.\d+|[a-d](?=\)\s))\)",
    "closing": rf"[)\]}}](?:\^{SCRIPT}|{RAISED}+)+",
    "strong": "|".join(STRONG),
    "function": rf"\b(?:{FUNCTIONS.pattern})\b",
    "word": r"[^\W\d_]{2,}(?:['’\-‑][^\W\d_]+)*|[^\W\d_]['’][^\W\d_]+|(?<=\d)['’]s\b",
    "number": r"\d(?:[\d,]*\d)?(?:\.\d+)?|…",
    "letter": r"[^\W\d_]'*",
    "operator": r"<=|>=|==|->|!=|[=<>+−·×/→±∓~|*]|(?<=\s)-(?=\s)|-(?=\d)",
    "open": r"[(\[{]",
    "close": r"[)\]}]",
    "comma": r",(?=\s)",
    "space": r"[ \n]",
    "other": r"[\s\S]",
}
DEPTH = {"open": 1, "close": -1, "closing": -1}
PIECE = re.compile("|".join(f"(?P<{name}>{pattern})" for name, pattern in PIECES.items()))
UNITS = ("s", "h", "m", "d", "B", "e", "g")  # after a number
OUTSIDE = ("code", "id", "word", "other")
Pieces = list[tuple[str, str]]


@lru_cache(maxsize=20_000)  # the report shows the same texts on many pages
def typeset(text: str) -> str:
    """The text as HTML, its formulas as MathML, what stands in backticks as code.

    Args:
        text: Plain text.

    >>> typeset("Strength is ‖v_j‖ & more, for n < d")
    'Strength is <math><mrow><mo form="prefix" stretchy="false">‖</mo><msub><mi>v</mi><mi>j</mi></msub>\
<mo form="postfix" stretchy="false">‖</mo></mrow></math> &amp; more, for <math><mi>n</mi><mo>&lt;</mo><mi>d</mi></math>'
    """
    try:
        return with_formulas(text, mathml, escape, lambda code: f"<code>{escape(code)}</code>")
    except (ValueError, RecursionError):  # brackets a thousand deep, or a number of a thousand digits
        return escape(text)


def is_word(symbol: str) -> bool:
    """Whether what a list of symbols defines is a word rather than a formula.

    >>> is_word("support example"), is_word("w_j"), is_word("log")
    (True, False, False)
    """
    first = re.match(r"[A-Za-z]{3,}", symbol)
    return bool(first) and not FUNCTIONS.fullmatch(first.group())


def with_formulas(
    text: str, formula: Callable[[str], str], plain: Callable[[str], str] = str, code: Callable[[str], str] = str
) -> str:
    """The text with every formula, everything else, and every piece of code put through a function.

    Args:
        text: Plain text.
        formula: What to make of a formula.
        plain: What to make of the text between formulas.
        code: What to make of code in backticks, without them.

    >>> with_formulas("the norm ‖w_j‖ of a neuron", lambda found: f"${found}$")
    'the norm $‖w_j‖$ of a neuron'
    """
    output, run = "", []
    for match in PIECE.finditer(decomposed(text)):
        kind = str(match.lastgroup)
        if kind not in OUTSIDE:
            run.append((kind, match.group()))
            continue
        output += _settled(run, formula, plain)
        run = []
        output += code(match.group().strip("`")) if kind == "code" else plain(_composed(match.group()))
    return output + _settled(run, formula, plain)


def _composed(text: str) -> str:
    return unicodedata.normalize("NFC", text)


def _settled(run: Pieces, formula: Callable[[str], str], plain: Callable[[str], str]) -> str:
    """A run of pieces that may be mathematics: split at commas outside brackets, each part a formula or not."""
    output, part, depth = "", [], 0
    for kind, text in run:
        depth += DEPTH.get(kind, 0)
        if kind == "comma" and depth <= 0:
            output += _part(part, formula, plain) + plain(text)
            part = []
        else:
            part.append((kind, text))
    return output + _part(part, formula, plain)


def _part(part: Pieces, formula: Callable[[str], str], plain: Callable[[str], str]) -> str:
    start, end = _trimmed(part)
    before, inside, after = ("".join(text for _, text in some) for some in (part[:start], part[start:end], part[end:]))
    if not _mathematical(part[start:end], before):
        return plain(_composed(before + inside + after))
    return plain(_composed(before)) + formula(_composed(inside)) + plain(_composed(after))


def _trimmed(part: Pieces) -> tuple[int, int]:
    """Where the formula begins and ends: without spaces, loose operators and brackets of the sentence around it."""
    start, end = 0, len(part)
    while True:
        was = start, end
        while start < end and _loose(part[start], part[start:end], first=True):
            start += 1
        while start < end and _loose(part[end - 1], part[start:end], first=False):
            end -= 1
        if was == (start, end):
            return start, end


def _loose(piece: tuple[str, str], part: Pieces, first: bool) -> bool:
    kind, text = piece
    others = part[1:] if first else part[:-1]
    beside = others[0 if first else -1] if others else ("", "")
    if kind in ("space", "comma") or (kind == "function" and beside[0] in ("space", "")):
        return kind != "function" or not first or not others
    if kind == "operator":
        sign = first and text in "−-|" and beside[0] not in ("space", "")
        return not (sign or (text == "|" and any(other == "|" for _, other in others)))
    if kind in DEPTH:
        return _unbalanced(part) if (DEPTH[kind] > 0) == first else True
    article = text in ("a", "A", "I") and beside[0] == "space" and not _operated(others, first)
    return kind == "letter" and article


def _unbalanced(part: Pieces) -> bool:
    """Whether the brackets do not match, or enclose the whole: then they belong to the sentence."""
    depth, kinds = 0, [kind for kind, _ in part]
    for i, kind in enumerate(kinds):
        depth += DEPTH.get(kind, 0)
        if depth < 0:
            return True
        if depth == 0 and i == len(kinds) - 1 and kinds[0] == "open" and kind == "close":
            return kinds.count("open") == 1 and not any(text == "," for _, text in part)
    return depth != 0


def _operated(others: Pieces, first: bool) -> bool:
    """Whether the next piece after the space is an operator."""
    near = others[1:2] if first else others[-2:-1]
    return bool(near) and near[0][0] == "operator"


def _mathematical(part: Pieces, before: str) -> bool:
    kinds = [kind for kind, _ in part if kind != "space"]
    if "strong" in kinds or "closing" in kinds:
        return True
    if kinds == ["letter"]:
        unit = part[0][1] in UNITS and bool(re.search(r"\d\s*$", before))
        return part[0][1] not in ("a", "A", "B", "I") and not unit
    if kinds == ["function", "letter"] or [kind for kind, _ in part][:2] == ["letter", "open"]:
        return True
    if "letter" in kinds and kinds[0] == "open" and "comma" in kinds:
        return True
    return "letter" in kinds and "operator" in kinds and len(kinds) > 2
