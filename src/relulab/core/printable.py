"""Text from files, as a terminal or a page may show it."""

import re
import unicodedata

LONGEST = 300  # characters of a word, such as a name from a file
KEPT = "\n\t\u00ad\u200c\u200d"  # the last three are parts of words in some languages
WORD = re.compile(rf"\S{{{LONGEST + 1},}}")


def printable(text: str) -> str:
    """Replace what a terminal would act on: control characters, and characters that change the direction of text.

    Args:
        text: Any text.

    >>> printable("red\\x1b[31m, two\\nlines")
    'red�[31m, two\\nlines'
    """
    if text.isascii() and text.replace("\n", "").isprintable():
        return text
    return "".join("�" if _acts(character) else character for character in text)


def shortened(text: str) -> str:
    """Cut words of more than 300 characters, such as the name of a column in a strange file.

    Args:
        text: Any text.

    >>> len(shortened("a column " + "x" * 10_000))
    211
    """
    return WORD.sub(lambda match: f"{match[0][:200]} …", text)


def escaped(document: str) -> str:
    """Escape in a JSON document what a terminal would act on.

    Args:
        document: JSON, in which such characters occur in strings only.

    >>> escaped('"\\u202eabc"')
    '"\\\\u202eabc"'
    """
    if document.isascii() and "\x7f" not in document:
        return document
    return "".join(_code(character) if _acts(character) else character for character in document)


def _acts(character: str) -> bool:
    return character not in KEPT and unicodedata.category(character) in ("Cc", "Cf", "Cs", "Zl", "Zp")


def _code(character: str) -> str:
    units = character.encode("utf-16-be", "surrogatepass").hex()
    return "".join(f"\\u{units[i : i + 4]}" for i in range(0, len(units), 4))
