"""What the docstring of a function says about its arguments."""

import inspect
import re

NAME = re.compile(r"^(?P<space> +)\*{0,2}(?P<name>\w+): (?P<text>.+)$")


def argument_texts(docstring: str | None) -> dict[str, str]:
    """Return the texts of the section ``Args:`` of a docstring by argument, each on one line.

    Args:
        docstring: A docstring in the style of Google.

    >>> argument_texts("Sum.\\n\\nArgs:\\n    a: First number,\\n        finite.\\n    b: Second number.\\n\\n>>> 1")
    {'a': 'First number, finite.', 'b': 'Second number.'}
    """
    _, _, section = inspect.cleandoc(docstring or "").partition("\nArgs:\n")
    texts: dict[str, str] = {}
    name, depth = "", 0
    for line in section.splitlines():
        if not line.startswith(" "):
            break
        start = NAME.match(line)
        if start and (not name or len(start["space"]) == depth):
            name, depth = start["name"], len(start["space"])
            texts[name] = start["text"]
        elif name:
            texts[name] += f" {line.strip()}"
    return texts


def first_sentence(text: str) -> str:
    """Return the first sentence of a text as the end of another sentence: without a period, and in lower case.

    Args:
        text: One or more sentences.

    >>> first_sentence("One seed per lane. Lane i depends only on ``seeds[i]``."), first_sentence("W_l of the student.")
    ('one seed per lane', 'W_l of the student')
    """
    sentence = re.split(r"(?<=[^.])\.(?:\s+(?=[A-Z\"“`])|$)", text.replace("``", ""), maxsplit=1)[0].strip()
    is_word = (len(sentence) > 1 and sentence[1].islower()) or sentence[:2] == "A "
    return sentence[0].lower() + sentence[1:] if is_word else sentence
