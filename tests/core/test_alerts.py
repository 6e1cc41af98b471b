"""Warnings point to the line of the user that called relulab."""

import pytest

from relulab.core.alerts import Diverged, alert


def within_relulab(call):
    """A function as if it were in a module of relulab, which calls another one."""
    names = {"__name__": "relulab.some.module", "call": call}
    exec("def function(*arguments):\n    return call(*arguments)", names)
    return names["function"]


def test_a_warning_points_to_the_first_line_outside_relulab():
    with pytest.warns(Diverged, match="two words") as told:
        within_relulab(within_relulab(alert))("two words", Diverged)
    assert told[0].filename == __file__
