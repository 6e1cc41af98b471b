"""check on labeled tables: a flow of its own, a network of a user's, settings, and mistakes in one line."""

import json
import shutil

import numpy as np
import pytest

from relulab import balanced, gradient_flow, save, torch_default
from relulab.data.labeled import Labeled
from relulab.subjects.bias.tools.orthants import OppositeOrthants, SpanningSupports


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tables")
    for name, kind in (("spans", SpanningSupports(4)), ("paper", OppositeOrthants(6))):
        data: Labeled = kind.draw(np.random.default_rng(0), 30)
        rows = np.c_[data.X.numpy(), data.y.numpy()]
        np.savetxt(
            folder / f"{name}.csv", rows, delimiter=",", header=",".join("abcdefg"[: rows.shape[1]]), comments=""
        )
        if name == "spans":
            net = balanced((4, 8, 1), [0])
            save(net, folder / "start.safetensors")
            gradient_flow(net, data.X, data.y, until=300, step=0.8)
            save(net, folder / "net.safetensors")
    save(torch_default((4, 3, 1), [0]), folder / "biases.safetensors")
    return folder


@pytest.fixture
def files(made, tmp_path):
    return shutil.copytree(made, tmp_path, dirs_exist_ok=True)


SMALL = ("--set", "width=8", "--set", "until=300", "--set", "step=0.8")


def test_a_table_alone_is_trained_on(files, here):
    code, out, _ = here("check", "IB.T1", "--data", "spans.csv", *SMALL, "--json")
    document = json.loads(out)
    assert code == 0 and document["verdict"] == "HOLDS" and document["data"] == "spans.csv"
    code, out, _ = here("check", "IB.T1", "--data", "paper.csv", *SMALL, "--json")
    document = json.loads(out)
    assert code == 1 and document["verdict"] == "NOT_APPLICABLE"
    assert [c["holds"] for c in document["conditions"][:4]] == [True, True, False, False]
    assert document["conclusion"]  # it is measured all the same


def test_a_trained_network_and_its_start(files, here):
    for id in ("IB.T1", "IB.C1"):
        code, out, _ = here("check", id, "--data", "spans.csv", "--network", "net.safetensors", "--json")
        assert code == 1 and json.loads(out)["verdict"] == "INCONCLUSIVE"
        code, out, _ = here(
            "check", id, "--data", "spans.csv", "--network", "net.safetensors", "--start", "start.safetensors"
        )
        assert code == 0 and out.startswith("HOLDS")


@pytest.mark.parametrize(("id", "words"), [
    ("IB.L2", ()),
    ("IB.L3", ()),
    ("IB.L4", ("--set", "steps=40")),
    ("IB.LC1", ()),
])  # fmt: skip
def test_every_theorem_of_the_subject_takes_a_table(id, words, files, here):
    code, out, _ = here("check", id, "--data", "spans.csv", *words, "--json")
    assert code == 0 and json.loads(out)["verdict"] == "HOLDS"


def test_show_says_how(here):
    _, out, _ = here("show", "IB.T1", "--json")
    words = json.loads(out)["on files"]
    assert words.startswith(
        "relulab check IB.T1 --data DATA [--label LABEL] [--drop DROP] [--classes CLASSES] [--drop-missing] [--slope "
        "SLOPE] [--activation ACTIVATION] [--network NETWORK] [--start START]"
    )
    assert "--set width=100" in words
    assert "--network" in words and "linear" not in words  # a false variant is no setting


@pytest.mark.parametrize(("words", "says"), [
    (("IB.T1", "--network", "net.safetensors"), "IB.T1 on files needs --data"),
    (("IB.T1", "--data", "spans.csv", "--teacher", "net.safetensors"), "leave out --teacher"),
    (("IB.L2", "--data", "spans.csv", "--network", "net.safetensors"), "leave out --network"),
    (("IB.T1", "--data", "spans.csv", "--set", "linear=true"), "no setting 'linear'"),
    (("IB.T1", "--data", "spans.csv", "--set", "widht=3"), "did you mean 'width'"),
    (("IB.T1", "--data", "spans.csv", "--network", "biases.safetensors"), "with biases"),
    (("IB.T1", "--data", "paper.csv", "--network", "net.safetensors"), "with as many inputs, got 4"),
    (("IB.T1", "--data", "nothing.csv"), "nothing.csv"),
    (("SS.L1", "--data", "spans.csv", "--label", "y"), "SS.L1 on files needs --data, --teacher and --student"),
])  # fmt: skip
def test_mistakes_are_one_line(words, says, files, here):
    import re

    code, out, err = here("check", *words)
    assert code == 2 and not out and re.search(says, err), err
    assert len(err.strip().splitlines()) == 1
