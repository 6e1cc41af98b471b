"""What docstrings say about arguments."""

import inspect

from valid_calls import NOT_CALLED, public

from relulab.core.argument_texts import argument_texts, first_sentence


def test_every_argument_of_a_public_function_is_described():
    missing = set()
    for name, thing in public().items():
        if name in NOT_CALLED or (inspect.isclass(thing) and hasattr(thing, "model_fields")):
            continue
        texts = argument_texts(thing.__doc__)
        missing |= {
            f"{name}: {key}" for key in inspect.signature(thing).parameters if key not in {*texts, "self", "cls"}
        }
    assert not missing


def test_a_text_with_a_colon_and_a_list_is_read():
    doc = """Do.

    Args:
        by: One of two: "epoch" or
            "step": both count.
        rest: More.

    Returns:
        not: an argument
    """
    assert argument_texts(doc) == {"by": 'One of two: "epoch" or "step": both count.', "rest": "More."}
    assert argument_texts(None) == argument_texts("Do.") == {}


def test_first_sentence():
    assert first_sentence("Fraction, e.g. 0.5 of all. Default: 1.") == "fraction, e.g. 0.5 of all"
    assert first_sentence("``SGD`` or ``Adam``.") == "SGD or Adam"
    assert first_sentence("A ``Task``.") == "a Task"
    assert first_sentence("ε, half the width.") == "ε, half the width"
