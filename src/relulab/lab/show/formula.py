"""Formulas in plain Unicode text, as one writes them in a message, set as MathML: ``‖w*_j‖ ≤ √(2πε)``."""

import re
import unicodedata
from html import escape
from typing import NamedTuple

FUNCTIONS = re.compile(
    "log|ln|exp|a?r?c?(sin|cos|tan)h?|(arg)?(max|min)|sign|rank|dim|det|tr|diag|mean|median|rms|[Vv]ar|[Cc]ov|lim"
)
WORDS = frozenset({"and", "as", "at", "by", "for", "if", "in", "is", "of", "on", "or", "to", "with"})
ACCENTS = {"\u0302": "^", "\u0303": "~", "\u0304": "¯", "\u0307": "˙", "\u0308": "¨"}
SUBSCRIPTS: dict[str, str] = dict(zip("₀₁₂₃₄₅₆₇₈₉₊₋₌ₐₑᵢⱼₖₗₘₙₚᵣₛₜₓ", "0123456789+−=aeijklmnprstx", strict=True))
SUPERSCRIPTS: dict[str, str] = dict(zip("⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁼ᵀⁿⁱᵏᵈˡᵐ", "0123456789+−=⊤nikdlm", strict=True))
FRACTIONS = {"½": "12", "¼": "14", "¾": "34", "⅓": "13", "⅔": "23", "⅛": "18"}
WRITTEN = {"<=": "≤", ">=": "≥", "==": "=", "->": "→", "!=": "≠", "-": "−", "Σ": "∑", "Π": "∏"}
LARGE = "∑∏∫"
PRIME = '<mo lspace="0" rspace="0">′</mo>'  # not raised: the sign is, in most fonts
PAIRS = {"(": ")]", "[": "])", "{": "}", "‖": "‖", "|": "|", "⌈": "⌉", "⌊": "⌋", "⟨": "⟩"}
TOKEN = re.compile(
    r"\s+|\d(?:[\d,]*\d)?(?:\.\d+)?(?:e[+-]?\d+)?|[A-Za-z]{2,}(?![\u0300-\u036f])|[^\W\d_][\u0300-\u036f]?"
    r"|<=|>=|==|->|!=|."
)


class Token(NamedTuple):
    text: str
    spaced: bool
    """whether a space comes before it"""


def mathml(formula: str, display: bool = False) -> str:
    """The formula as a MathML element, for a page.

    Args:
        formula: The formula. ``_`` and ``^`` take one character, a run of letters and digits, or a group in braces;
            ``√`` takes an atom or what is in parentheses; a star right after a letter is a superscript.
        display: Whether it stands on a line of its own.

    >>> mathml("w*_j")
    '<math><msubsup><mi>w</mi><mi>j</mi><mo>∗</mo></msubsup></math>'
    >>> mathml("x²/2")
    '<math><msup><mi>x</mi><mn>2</mn></msup><mo>/</mo><mn>2</mn></math>'
    """
    look = ' display="block"' if display else ""
    return f"<math{look}>{_Reader(decomposed(formula), display).row()}</math>"


def decomposed(text: str) -> str:
    """The text with accents after their letters; signs such as ≠ stay whole."""
    return "".join(unicodedata.normalize("NFD", sign) if sign.isalpha() else sign for sign in text)


def tokens(text: str) -> list[Token]:
    """Numbers, words, letters with their accents, and signs, one by one."""
    pieces, spaced = [], False
    for match in TOKEN.finditer(text):
        if match.group().isspace():
            spaced = True
        else:
            text = match.group()
            # Two letters that are no function are a product, or two indices.
            product = re.fullmatch("[A-Za-z]{2}", text) and not FUNCTIONS.fullmatch(text) and text not in WORDS
            parts = [*text] if product else [text]
            pieces += [Token(part, spaced and i == 0) for i, part in enumerate(parts)]
            spaced = False
    return pieces


class _Reader:
    """Reads a formula from left to right."""

    def __init__(self, text: str, display: bool):
        self.tokens, self.at, self.display = tokens(text), 0, display

    def peek(self) -> str:
        return self.tokens[self.at].text if self.at < len(self.tokens) else ""

    def next(self) -> str:
        self.at += 1
        return self.tokens[self.at - 1].text

    def row(self, until: str = "") -> str:
        """Everything up to one of some closing signs, or to the end; the closing sign itself is left."""
        parts = []
        while self.peek() and self.peek() not in until:
            function = FUNCTIONS.fullmatch(self.peek())
            parts.append(self.scripted(self.atom()))
            if function and self.peek() and self.peek() not in f"([{until}":
                parts.append('<mspace width="0.17em"/>')
        return "".join(parts)

    def group(self, until: str) -> str:
        """The contents of a group; its opening sign is the next token."""
        self.next()
        inside = self.row(until)
        self.at += 1
        return inside

    def atom(self) -> str:
        text = self.peek()
        if text in PAIRS and (text not in "‖|" or self._closes(text)):
            inside = self.group(PAIRS[text])
            closing = self.tokens[self.at - 1].text if self.at <= len(self.tokens) else ""
            last = _fence(closing, "postfix") if closing else ""
            return f"<mrow>{_fence(text, 'prefix')}{inside}{last}</mrow>"
        self.next()
        if text == "√":
            return f"<msqrt>{self.radicand()}</msqrt>"
        if text in FRACTIONS:
            above, below = FRACTIONS[text]
            return f"<mfrac><mn>{above}</mn><mn>{below}</mn></mfrac>"
        return _leaf(text)

    def _closes(self, bar: str) -> bool:
        return any(token.text == bar for token in self.tokens[self.at + 1 :])

    def radicand(self) -> str:
        if self.peek() == "(":
            return self.group(")")
        inside = self.scripted(self.atom()) if self.peek() else ""
        while self.peek() in ("[", "(") and not self.tokens[self.at].spaced:
            inside += self.atom()
        return inside

    def scripted(self, base: str) -> str:
        """The atom with its subscripts, superscripts, stars and primes."""
        sub, sup = "", ""
        while text := self.peek():
            if text == "_":
                self.next()
                sub += self.script()
            elif text == "^":
                self.next()
                sup += self.script()
            elif text in SUBSCRIPTS:
                sub += self._run(SUBSCRIPTS)
            elif text in SUPERSCRIPTS:
                sup += self._run(SUPERSCRIPTS)
            elif text == "*" and self._starred(base):
                self.next()
                sup += "<mo>∗</mo>"
            elif text == "'":
                self.next()
                base = f"<mrow>{base}{PRIME}</mrow>"
            else:
                break
        large = self.display and any(sign in base for sign in LARGE)
        kinds = ("munder", "mover", "munderover") if large else ("msub", "msup", "msubsup")
        if sub and sup:
            return f"<{kinds[2]}>{base}{_one(sub)}{_one(sup)}</{kinds[2]}>"
        return f"<{kinds[0]}>{base}{_one(sub)}</{kinds[0]}>" if sub else _upper(kinds[1], base, sup)

    def _starred(self, base: str) -> bool:
        """A star is a superscript right after a letter, unless something is to be multiplied with it."""
        return not self.tokens[self.at].spaced and base.startswith(("<mi", "<mover", "<mrow", "<msub"))

    def script(self) -> str:
        if self.peek() in ("{", "("):
            return self.group(PAIRS[self.peek()])
        parts = self._signed()
        while self.peek() and not self.tokens[self.at].spaced and re.match(r"[^\W_]|'", self.peek()):
            if self.peek() in SUPERSCRIPTS or self.peek() in SUBSCRIPTS:
                break
            parts += _leaf(self.next())
        return parts

    def _signed(self) -> str:
        sign = _leaf(self.next()) if self.peek() in ("-", "−", "+", "*") else ""
        return sign + (_leaf(self.next()) if not sign and self.at < len(self.tokens) else "")

    def _run(self, table: dict[str, str]) -> str:
        text = ""
        while self.peek() and self.peek() in table:
            text += table[self.next()]
        return "".join(_leaf(token.text) for token in tokens(text))


def _upper(kind: str, base: str, sup: str) -> str:
    return f"<{kind}>{base}{_one(sup)}</{kind}>" if sup else base


def _one(parts: str) -> str:
    """As one element, which a script has to be."""
    return parts if len(re.findall(r"<m\w+[ >]", parts)) == 1 else f"<mrow>{parts}</mrow>"


def _leaf(text: str) -> str:
    if re.match(r"\d", text):
        return _number(text)
    if text[0].isalpha():
        return _name(text)
    if text == "'":
        return PRIME
    text = WRITTEN.get(text, "∗" if text == "*" else text)
    return f"<mi>{text}</mi>" if text in "∞…∅" else f"<mo>{escape(text)}</mo>"


def _name(text: str) -> str:
    if text in WRITTEN:
        return f"<mo>{WRITTEN[text]}</mo>"
    if len(text) == 2 and text[1] in ACCENTS:
        return f'<mover accent="true"><mi>{text[0]}</mi><mo>{ACCENTS[text[1]]}</mo></mover>'
    if len(text) == 1 or FUNCTIONS.fullmatch(text):
        return f"<mi>{text}</mi>"
    return f"<mtext>\u00a0{text}\u00a0</mtext>" if text in WORDS else f"<mtext>{text}</mtext>"


def _number(text: str) -> str:
    digits, e, power = text.partition("e")
    if not e:
        return f"<mn>{text}</mn>"
    raised = f"<msup><mn>10</mn><mrow>{'<mo>−</mo>' if int(power) < 0 else ''}<mn>{abs(int(power))}</mn></mrow></msup>"
    return raised if digits == "1" else f"<mn>{digits}</mn><mo>·</mo>{raised}"


def _fence(sign: str, form: str) -> str:
    return f'<mo form="{form}" stretchy="false">{sign}</mo>'
