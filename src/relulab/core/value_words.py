"""Values and types in a few words, for error messages."""

import inspect
from typing import Any

LONGEST = 60  # characters of a value that are quoted
SPOKEN_WITH_A_VOWEL = "AEFHILMNORSX"  # initial letters of abbreviations: an MLP, an SGD
QUOTED = (bool, int, float, complex, str, bytes, list, tuple, dict, set, frozenset, range)


def article(name: str) -> str:
    """Return a name of a type with its indefinite article; plural names have none.

    Args:
        name: The name.

    >>> article("MLP"), article("Task"), article("Adam"), article("Nodes")
    ('an MLP', 'a Task', 'an Adam', 'Nodes')
    """
    if name.endswith("s") and not name.endswith("ss"):
        return name
    abbreviated = name[:2].isupper()
    return ("an " if name[0].upper() in (SPOKEN_WITH_A_VOWEL if abbreviated else "AEIO") else "a ") + name


def shown(value: Any) -> str:
    """Describe a value on one line: numbers and texts as they are written, arrays by shape, other objects by type.

    Args:
        value: Any value.

    >>> import torch
    >>> shown(4), shown(None), shown(torch.zeros(2, 3)), shown(int), shown(torch.nn.ReLU())
    ('4 (int)', 'None', 'a float32 tensor of shape (2, 3)', 'the class int', 'a ReLU')
    """
    if value is None:
        return "None"
    if isinstance(value, type):
        return f"the class {value.__name__}"
    shape, dtype = getattr(value, "shape", None), getattr(value, "dtype", None)
    if isinstance(shape, tuple) and dtype is not None:
        kind = "tensor" if type(value).__module__.startswith("torch") else "array"
        name = "text" if getattr(dtype, "kind", "") in ("U", "S") else str(dtype).removeprefix("torch.")
        return f"{article(name)} {kind} of shape {tuple(shape)}"
    if type(value) in QUOTED:
        return f"{shortened(value)} ({type(value).__name__})"
    if hasattr(value, "__code__"):
        return f"the function {value.__name__}{_signature(value)}"
    return article(type(value).__name__)


def _signature(function: Any) -> str:
    names = [
        str(p).partition(":")[0].partition("=")[0].strip() for p in inspect.signature(function).parameters.values()
    ]
    return f"({', '.join(names)})"


def shortened(value: Any, longest: int = LONGEST) -> str:
    """Return the ``repr`` of a value on one line, and the name of a class.

    Args:
        value: Any value.
        longest: Number of characters after which the text is cut.

    >>> shortened("a\\nb"), len(shortened(list(range(100))))
    ("'a\\\\nb'", 60)
    """
    text = f"the class {value.__name__}" if isinstance(value, type) else " ".join(repr(value).split())
    return text if len(text) <= longest else f"{text[: longest - 2]} …"


def listed(words: list[str], last: str = "or") -> str:
    """Join words with commas, and with ``last`` before the last one.

    Args:
        words: At least one word.
        last: The word between the last two.

    >>> listed(["a tensor", "an array", "None"])
    'a tensor, an array or None'
    """
    return f" {last} ".join([", ".join(words[:-1]), words[-1]]) if len(words) > 1 else words[0]
