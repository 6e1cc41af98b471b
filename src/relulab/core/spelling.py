"""Treat British and American spellings of a word as equal."""

import re

BRITISH = (
    (r"is(?=(e|ed|es|er|ers|ing|ation|ations)\b)", "iz"),
    (r"ys(?=(e|ed|es|er|ing)\b)", "yz"),
    (r"our\b(?<=[bdlmnpv]our)", "or"),
    (r"\blearnt\b", "learned"),
    (r"\bmodell", "model"),
    (r"\blabell", "label"),
    (r"\bcentre", "center"),
    (r"\bgrey", "gray"),
    (r"programme\b", "program"),
)


def american(text: str) -> str:
    """Return the text in lower case and American spelling, for comparisons.

    Args:
        text: Any text.

    >>> american("Optimisation bias"), american("colour") == american("color"), american("Learnt function")
    ('optimization bias', True, 'learned function')
    """
    text = text.lower()
    for pattern, spelling in BRITISH:
        text = re.sub(pattern, spelling, text)
    return text
