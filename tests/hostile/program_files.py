"""Exported programs (.pt2) in which something was changed."""

import json
import random
import zipfile
from pathlib import Path

import torch

from hostile.limits import kind
from hostile.network_files import network
from relulab.core.files import is_running
from relulab.io import program_trial


def programs(folder: Path) -> Path:
    """One small exported program for all that are changed."""
    path = folder / "plain.pt2"
    if not path.exists():
        net = torch.nn.Sequential(
            torch.nn.Linear(4, 4), torch.nn.BatchNorm1d(4), torch.nn.ReLU(), torch.nn.Linear(4, 2), torch.nn.Softmax(1)
        ).eval()
        dynamic = {"input": {0: torch.export.Dim.AUTO}}
        torch.export.save(torch.export.export(net, (torch.zeros(3, 4),), dynamic_shapes=dynamic), path)
    return path


def program(path: Path) -> None:
    """Load a program and run it. The process in which it is tried is that of the parent, which does not use it now."""
    child = program_trial._child
    if child is not None:
        child.poll = lambda: None if is_running(child.pid) else 1  # after a fork, Python takes it for ended
    network(path)


@kind(program, 5)
def changed_programs(folder: Path, rng: random.Random) -> Path:
    """A program in which some numbers, names and operations are others."""
    with zipfile.ZipFile(programs(folder.parent)) as source:
        members = {name: source.read(name) for name in source.namelist()}
    name = next(n for n in members if n.endswith("models/model.json"))
    document = json.loads(members[name])
    graph = document["graph_module"]["graph"]
    for _ in range(rng.randrange(1, 4)):
        _change(graph, rng)
    if rng.random() < 0.1:
        graph["nodes"] = graph["nodes"] * rng.choice([100, 20_000])
    if rng.random() < 0.2:
        config = next(n for n in members if n.endswith("weights_config.json"))
        rows = json.loads(members[config])
        for row in rows["config"].values():
            sizes = row["tensor_meta"]["sizes"]
            if sizes and rng.random() < 0.5:
                sizes[0]["as_int"] = rng.choice([1, 2, 10**9, -1, 200_000])
        members[config] = json.dumps(rows).encode()
    members[name] = json.dumps(document).encode()
    with zipfile.ZipFile(folder / "a.pt2", "w") as archive:
        for each, content in members.items():
            archive.writestr(each, content)
    return folder / "a.pt2"


OPERATIONS = [
    "softmax.int",
    "log_softmax.int",
    "batch_norm.default",
    "view.default",
    "mm.default",
    "sum.default",
    "_softmax.default",
    "cat.default",
    "conv2d.default",
    "max_pool2d.default",
    "adaptive_avg_pool2d.default",
    "group_norm.default",
    "layer_norm.default",
    "transpose.int",
    "select.int",
    "slice.Tensor",
    "chunk.default",
    "split.Tensor",
    "prelu.default",
    "pow.Tensor_Scalar",
    "as_strided.default",
    "avg_pool2d.default",
]


def _change(graph: dict, rng: random.Random) -> None:
    node = rng.choice(graph["nodes"])
    what = rng.random()
    if what < 0.3:
        node["target"] = f"torch.ops.aten.{rng.choice(OPERATIONS)}"
    elif what < 0.6 and node["inputs"]:
        odd = [
            {"as_int": rng.choice([-1, 0, 44, 127, 2**31, 2**62, -(2**63), 10**30])}, {"as_float": 1e308},
            {"as_ints": [rng.choice([0, -1, 2**40, 10**6])] * rng.choice([0, 2, 4, 70])}, {"as_none": True},
            {"as_tensor": {"name": rng.choice(["input", "p_0_weight", "nothing"])}}, {"as_tensors": []},
            {"as_bool": True}, {"as_string": "x"},
        ]  # fmt: skip
        rng.choice(node["inputs"])["arg"] = rng.choice(odd)
    elif what < 0.8:
        node["inputs"] = node["inputs"][: rng.randrange(4)] * rng.choice([1, 1, 5])
    else:
        values = rng.choice(list(graph["tensor_values"].values()))
        values["sizes"] = rng.choice(
            [[], [{}], [{"as_int": -1}], [{"as_int": 10**12}, {"as_int": 4}], [{"as_int": "2"}]]
        )
