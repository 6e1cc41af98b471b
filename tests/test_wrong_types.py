"""No public function answers a wrong argument with an error of Python, NumPy or PyTorch, or accepts nonsense.

The calls are made in a process without the checks of types that the other tests have, as they are for users.
"""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from valid_calls import NOT_CALLED, calls, public

WALK = Path(__file__).parent / "wrong_inputs.py"


@pytest.fixture(scope="module")
def walk(tmp_path_factory) -> dict:
    """What the calls with wrong arguments came to."""
    done = subprocess.run(
        [sys.executable, str(WALK)], cwd=tmp_path_factory.mktemp("walk"), text=True, capture_output=True
    )
    assert not done.returncode, done.stderr
    return json.loads(done.stdout)


def test_every_public_function_has_a_valid_call():
    assert set(public()) == {*calls(), *NOT_CALLED}


def test_a_wrong_argument_is_accepted_or_reported_in_one_sentence(walk):
    assert walk["functions"] > 160 and walk["calls"] > 14_000 and walk["outcomes"]["UserError"] > 13_000
    assert not walk["problems"]
    assert set(walk["outcomes"]) == {"accepted", "UserError"}


def test_nonsense_is_not_accepted_silently(walk):
    assert not walk["silent"]


def test_results_print_in_a_few_lines(walk):
    assert len(walk["reprs"]) > 100
    for name, text in walk["reprs"].items():
        lines = text.splitlines()
        assert len(lines) < 15 and max(map(len, lines)) < 400, name
        assert " object at 0x" not in text and "tensor(" not in text, name
