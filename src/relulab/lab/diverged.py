"""What a study says about networks whose weights became NaN or infinite, from the variable ``diverged_at``."""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from textwrap import wrap
from typing import Any

import numpy as np
import xarray as xr
from matplotlib.figure import Figure

NAME = "diverged_at"


def diverged(result: xr.Dataset) -> str:
    """Return a sentence on how many networks diverged and which one first, or an empty text if none did.

    Args:
        result: The result of a study. Its variable ``diverged_at``, if any, is that of ``fit``, along any dimensions:
            the step at which the weights of a network were found to be NaN or infinite, or −1.

    >>> at = xr.DataArray([[-1, 12], [-1, 30]], dims=("over", "seed"), coords={"over": [1, 5], "seed": [0, 1]})
    >>> diverged(xr.Dataset({"diverged_at": at}))
    '2 of 4 networks diverged (first at step 12: over 1, seed 1): lower lr.'
    """
    if NAME not in result:
        return ""
    at = result[NAME]
    lost = (at >= 0).values
    if not lost.any():
        return ""
    first = np.unravel_index(int(np.where(lost, at.values, np.inf).argmin()), at.shape)
    network = at[dict(zip(at.dims, map(int, first), strict=True))]
    where = ", ".join(f"{dim} {_word(network[dim].item())}" for dim in at.dims)
    count = int(at.notnull().sum())
    return f"{int(lost.sum())} of {count} networks diverged (first at step {int(network)}: {where}): lower lr."


def _word(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def marked(figure: Figure, sentence: str) -> Figure:
    """Add a sentence to the title of a figure. A figure that cannot be drawn with NaN is replaced by the sentence.

    Args:
        figure: The figure.
        sentence: The sentence, or an empty text for no change.
    """
    if not sentence:
        return figure
    figure.suptitle("\n".join([*filter(None, [figure.get_suptitle()]), *_lines(figure, sentence)]), fontsize=9)
    try:
        with quiet(sentence):
            figure.draw_without_rendering()
    except (ValueError, ArithmeticError, np.linalg.LinAlgError):
        return notice(sentence)
    return figure


@contextmanager
def quiet(sentence: str) -> Iterator[None]:
    """Ignore the warnings of NumPy and Matplotlib about NaN, if a sentence explains where it comes from.

    Args:
        sentence: The sentence, or an empty text to ignore nothing.
    """
    with warnings.catch_warnings():
        if sentence:
            warnings.simplefilter("ignore", RuntimeWarning)
            warnings.simplefilter("ignore", UserWarning)
        yield


def notice(sentence: str) -> Figure:
    """Return a figure that shows only a sentence.

    Args:
        sentence: The sentence.
    """
    figure = Figure(figsize=(4.5, 1.5))
    figure.text(0.5, 0.5, "\n".join(_lines(figure, sentence)), ha="center", va="center")
    return figure


def _lines(figure: Figure, sentence: str) -> list[str]:
    return wrap(sentence, max(30, int(12 * figure.get_figwidth())))
