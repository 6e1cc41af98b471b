"""Ten thousand damaged configurations: each is a study, or a mistake said in one line."""

import copy
import faulthandler
import json
import math
import random
import string
import sys
from functools import cache

import pytest

from relulab import UserError, find_study
from relulab.lab.comparison import Comparison
from relulab.lab.run.settings import LARGEST, changes
from relulab.lab.run.store import SCHEMA
from relulab.lab.study import Study

CASES = 10_000
HANG = 20  # seconds after which a single configuration counts as one that hangs
STUDIES = ("SS.F5", "SS.F7", "SS.F8")
TEXTS = (
    "",
    "0",
    "-1",
    "1e400",
    "0x10",
    "١٢",
    "½",
    "\ud800",
    "\u202e",
    "a\nb",
    "\x1b[2J",
    "\x00",
    "é",
    "𝔘",
    "None",
    "true",
    "1,5",
    ",",
)
NUMBERS = (0, -1, 1, 2**31, 2**63, 10**300, 10**4000, 1e308, 1e-320, -0.0, 0.5, math.nan, math.inf, -math.inf)


def odd(rng: random.Random, depth: int = 0):
    """Return a random value."""
    kind = rng.randrange(9)
    if kind == 0 or depth > 2:
        return rng.choice(NUMBERS)
    if kind == 1:
        return rng.choice(TEXTS)
    if kind == 2:
        return rng.choice((None, True, False))
    if kind == 3:
        return "".join(rng.choices(string.printable, k=rng.randrange(40)))
    if kind == 4:
        return [odd(rng, depth + 1) for _ in range(rng.randrange(4))]
    if kind == 5:
        return {rng.choice(("a", "", "config", "seeds", "é")): odd(rng, depth + 1) for _ in range(rng.randrange(3))}
    if kind == 6:
        value = rng.choice(([], {}, 1))
        for _ in range(rng.choice((5, 60, 300))):
            value = [value]
        return value
    if kind == 7:
        return rng.randint(-(10**6), 10**6)
    return rng.choice(("x" * 20_000, list(range(3000)), "é" * 300))


def changed(rng: random.Random, fields: dict) -> dict:
    """A configuration with one to three fields changed, gone or new."""
    fields = copy.deepcopy(fields)
    for _ in range(rng.choice((1, 1, 2, 3))):
        key = rng.choice(list(fields) or ["seeds"])
        kind = rng.randrange(6)
        if kind == 0:
            fields.pop(key, None)
        elif kind == 1:
            fields[rng.choice((key + "s", key.upper(), key[:-1], str(odd(rng, 3)), "\ud800", "a\nb"))] = odd(rng)
        elif kind == 2 and isinstance(fields.get(key), list) and fields[key]:
            fields[key][rng.randrange(len(fields[key]))] = odd(rng)
        elif kind == 3 and isinstance(fields.get(key), int | float) and abs(fields[key]) < 1e9:
            fields[key] = rng.choice(
                (str(fields[key]), [fields[key]], -fields[key], fields[key] + 0.5, fields[key] + 1)
            )
        else:
            fields[key] = odd(rng)
    return fields if rng.random() < 0.8 else {"config": fields, "schema": rng.choice((SCHEMA, 0, "x", None, [[[]]]))}


def damaged(rng: random.Random, text: str) -> bytes:
    """Flips, cuts and insertions in the text of a file."""
    data = bytearray(text.encode("utf-8", "surrogatepass"))
    for _ in range(rng.choice((1, 1, 2, 5))):
        at = rng.randrange(len(data) + 1)
        kind = rng.randrange(5)
        if kind == 0 and at < len(data):
            data[at] ^= 1 << rng.randrange(8)
        elif kind == 1:
            del data[at : at + rng.choice((1, 5, len(data)))]
        elif kind == 2:
            data[at:at] = rng.choice(
                (b"[" * 4000, b"{", b"}", b'"', b"1" * 5000, b"0x" + b"f" * 6000, b"\xff", b"NaN", b"\n", b"= ")
            )
        elif kind == 3:
            data[at:at] = data[: rng.randrange(30)]
        else:
            data[at:at] = rng.choice(TEXTS).encode("utf-8", "surrogatepass")
    return bytes(data)


def toml(value) -> str:
    """Values as TOML writes them, for all that it has."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(k)} = {toml(v)}" for k, v in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(toml, value)) + "]"
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return json.dumps(value) if value is not None else DATE


DATE = "1979-05-27T07:32:00Z"


def tried(study: type[Study], path, words: list[str]) -> str:
    """What becomes of it; anything but a study or a refusal in one line goes through to the caller."""
    try:
        configured = study.configured("smoke", changes(study, path, words))
    except UserError as error:
        line = str(error)
        assert len(line.splitlines()) == 1, f"not one line: {line[:500]!r}"
        assert len(line) < 40_000
        return "refused"
    of = configured.of if isinstance(configured, Comparison) else type(configured)  # lists are compared
    assert of is study and len(configured.hash) == 10
    return "configured"


@pytest.fixture
def watchdog():
    yield lambda: faulthandler.dump_traceback_later(HANG, exit=True, file=sys.__stderr__)
    faulthandler.cancel_dump_traceback_later()


@cache
def whole(study: type[Study]) -> dict:
    """All fields of a study, as a file has them."""
    return json.loads(json.dumps(study.configured("smoke").model_dump(mode="json")))


def made(case: int, folder) -> tuple:
    """Study, file and words of a case: a third JSON, a third TOML, a third --set."""
    rng = random.Random(case)
    study = find_study(STUDIES[case % len(STUDIES)])
    fields = changed(rng, whole(study))
    kind = rng.randrange(3)
    if kind == 2:
        words = [f"{key}={value if isinstance(value, str) else json.dumps(value)}" for key, value in fields.items()]
        words = rng.sample(words, min(len(words), rng.randrange(1, 4)))
        return (
            study,
            None,
            [damaged(rng, w).decode("utf-8", "surrogateescape") if rng.random() < 0.4 else w for w in words],
        )
    path = folder / ("case.json" if kind == 0 else "case.toml")
    text = json.dumps(fields) if kind == 0 else "\n".join(f"{json.dumps(k)} = {toml(v)}" for k, v in fields.items())
    path.write_bytes(damaged(rng, text) if rng.random() < 0.5 else text.encode("utf-8", "surrogatepass"))
    return study, path, []


def test_damaged_configurations_are_rejected_or_work(tmp_path, watchdog):
    found = {"configured": 0, "refused": 0}
    for case in range(CASES):
        watchdog()
        study, path, words = made(case, tmp_path)
        try:
            found[tried(study, path, words)] += 1
        except Exception as error:
            pytest.fail(f"case {case}, {study.name}: {type(error).__name__}: {str(error)[:500]}")
    assert found["configured"] + found["refused"] == CASES
    assert min(found.values()) > CASES / 50, found


def test_an_internal_error_would_be_noticed(monkeypatch):
    monkeypatch.setattr(Study, "configured", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        tried(find_study("SS.F7"), None, [])


def test_damaged_configurations_on_the_command_line(tmp_path, here, watchdog):
    """Only those that are refused: the others would run."""
    count = 0
    for case in range(CASES, CASES + 400):
        study, path, words = made(case, tmp_path)
        if any("\0" in word for word in words) or tried(study, path, words) != "refused":
            continue
        watchdog()
        config = ["--config", str(path)] if path else []
        code, out, err = here(
            "run", study.ids[0], "-p", "smoke", *config, *(w for word in words for w in ("--set", word))
        )
        assert code == 2 and not out and err.startswith("relulab: ") and err.count("\n") == 1, (case, err)
        count += 1
        if count == 40:
            break
    assert count == 40 and not (tmp_path / "runs").exists()


@pytest.mark.parametrize(
    "name, content, says",
    [
        ("a.json", b"[" * 100_000, "is not valid JSON"),
        ("a.toml", b"seeds = " + b"[" * 100_000, "is not valid TOML"),
        ("a.json", b'{"seeds": ' + b"1" * 5000 + b"}", "is not valid JSON"),
        ("a.toml", b"seeds = 0x" + b"f" * 9000, "too long or nested too deeply"),
        ("a.json", b'{"seeds": ' + b"[" * 700 + b"]" * 700 + b"}", "seeds|not valid JSON"),
        ("a.json", b'{"config": {}, "schema": "' + b"x" * 20_000 + b'"}', "the value of .schema. is too long"),
        ("a.json", b'{"seeds": NaN}', "seeds"),
        ("a.json", b'{"root": -1}', "root: expected .*, got -1"),
        ("a.json", b" " * (LARGEST + 1), "at most 1,000,000 bytes"),
        ("a.json", b"\xff\xfe", "is not valid JSON"),
        ("a.json", b"3", "expected an object with fields and values"),
    ],
)
def test_invalid_configuration_files_are_rejected(tmp_path, name, content, says):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(UserError, match=says):
        find_study("SS.F7").configured("smoke", changes(find_study("SS.F7"), tmp_path / name, []))


@pytest.mark.parametrize(
    "word", ["seeds=" + "1" * 5000, "seeds=" + "[" * 100_000, "seeds=1e999", "seeds=", "=3", "seeds", "=" * 9]
)
def test_invalid_assignments_are_rejected(word):
    study = find_study("SS.F7")
    with pytest.raises(UserError):
        study.configured("smoke", changes(study, None, [word]))
