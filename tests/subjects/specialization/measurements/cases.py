"""Cases of the measurements on networks, and the changes that keep their scale-free numbers."""

import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
from changes import (
    Change,
    float32,
    outputs_rotated,
    outputs_scaled,
    permuted,
    repeated,
    rotated,
    scaled,
    turned_axes,
    units_permuted,
    units_rescaled,
)
from measurement_battery import Case

from relulab.data.labeled import Labeled
from relulab.nets.initial import torch_default


def nets(*names: str, widths: tuple[int, ...] = (3, 5, 2)):
    """Networks of one shape and Gaussian points."""

    def make(rng: np.random.Generator) -> dict:
        drawn = {name: torch_default(widths, seeds=[int(rng.integers(1000))], dtype=torch.float64) for name in names}
        return drawn | {"data": torch.from_numpy(rng.standard_normal((60, 3)))}

    return make


def with_options(make, **options):
    return lambda rng: make(rng) | options


def in_common(*names: str) -> tuple:
    """What changes no function, or turns and scales the inputs of all."""
    return (*scaled("data", weights=names), rotated("data", weights=names), permuted("data"), repeated("data"),
            units_permuted(*names), units_rescaled(*names), float32("data", *names))  # fmt: skip


def agreement(document: dict) -> dict:
    return {"same": document["same"]["value"], "relative": document["relative"]["value"]}


def rule(document: dict) -> dict:
    last = document["gradients"][-1]
    return {"verdict": document["verdict"], "largest": last["max"] / last["rms"]}


def correlations(document: dict) -> dict:
    layers = document["layers"]
    return {
        "mean": [layer["rho_mean"] for layer in layers], "recovered": [layer["recovered"] for layer in layers],
        "rho": [rho for layer in layers for rho in sorted(node["rho"] for node in layer["nodes"])],
    }  # fmt: skip


def strengths(document: dict) -> dict:
    """Not the shifts of focus: they follow a unit from checkpoint to checkpoint, which are permuted one by one."""
    layers = document["layers"]
    return {
        "rho": [rho for layer in layers for rho in sorted(node["rho"] for node in layer["nodes"])],
        "recovered": [sum(node["recovered"] for node in layer["nodes"]) for layer in layers],
    }  # fmt: skip


def aligned(document: dict) -> dict:
    nodes = document["nodes"]
    return {
        "epsilon": sorted(row["epsilon"] for row in nodes), "sides": sum(row["same_side"] for row in nodes),
        "observers": sorted(row["observers"] for row in nodes), "kappa": sorted(row["kappa"] for row in nodes),
    }  # fmt: skip


def pruned(document: dict) -> dict:
    return {"kept": document["kept"], "lost": document["lost"], "agree": document["agree"]["value"],
            "sizes": [size["lost"] for size in document["sizes"]]}  # fmt: skip


def matched(document: dict) -> dict:
    layers = document["layers"]
    return {
        "counts": [layer[name] for layer in layers for name in ("matched", "several", "constant")],
        "rho": [rho for layer in layers for rho in sorted(node["rho"] for node in layer["nodes"])],
        "partner": [rho for layer in layers for rho in sorted(node["partner_rho"] for node in layer["nodes"])],
    }  # fmt: skip


def pruned_layers(document: dict) -> dict:
    size = document["size"]
    return {"widths": size["widths"], "lost": size["lost"]["value"], "agree": size["agree"]["value"],
            "sizes": [row["lost"]["value"] for row in document["sizes"]]}  # fmt: skip


def connected(document: dict) -> dict:
    """The line depends on the order and the scale of the nodes, the path does not."""
    return {"path": document["path"] / document["constant"], "low": document["path_low"],
            "ends": [end / document["constant"] for end in document["ends"]]}  # fmt: skip


def modulated(document: dict) -> dict:
    """Not √E[β_kk] itself, which depends on the scale of a node."""
    layers = document["layers"]
    return {
        "effective": [row["effective"] for row in layers], "active": [sum(row["active"]) for row in layers],
        "shares": [c / max(row["contribution"]) for row in layers for c in sorted(row["contribution"])],
    }  # fmt: skip


def spectrum(document: dict) -> dict:
    return {name: document[name] for name in ("largest", "smallest", "near_zero", "parameters")}


def with_classes(make):
    def labeled(rng: np.random.Generator) -> dict:
        problem = make(rng)
        x = problem.pop("data")
        return problem | {"data": Labeled(x, (torch.arange(len(x)) % 2).double(), ("0", "1"))}

    return labeled


def state_dict(rng: np.random.Generator) -> dict:
    """A file with the BatchNorm layers of a network."""
    tensors = {}
    for l in range(6):
        vectors = {"weight": rng.uniform(0.5, 2, 9), "bias": rng.standard_normal(9), "running_mean": -rng.random(9)}
        tensors |= {f"bn{l}.{part}": vector for part, vector in {**vectors, "running_var": np.ones(9)}.items()}
    return written(tensors)


def written(tensors: dict[str, np.ndarray]) -> dict:
    path = Path(tempfile.mkdtemp()) / "net.npz"
    np.savez(path, **tensors)
    return {"networks": [path]}


def rewritten(name: str, change: Callable[[str, np.ndarray, np.random.Generator], np.ndarray]) -> Change:
    """Every vector of the file changed; those of one layer in the same way."""

    def of(arguments: dict, rng: np.random.Generator) -> dict:
        with np.load(arguments["networks"][0]) as arrays:
            seeds = {key.partition(".")[0]: rng.integers(10**6) for key in arrays}
            new = {
                key: change(key, a, np.random.default_rng(seeds[key.partition(".")[0]])) for key, a in arrays.items()
            }
        return written(new)

    return Change(name, of)


def larger_units(key: str, vector: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """The outputs of every unit times a positive number."""
    size = 10.0 ** rng.uniform(-3, 3, len(vector))
    return vector * size if key.endswith((".weight", ".bias")) else vector


def biases(document: dict) -> dict:
    (found,) = document["networks"]
    return {"share": found["share"], "trend": found["trend"], "active": [row["active"] for row in found["layers"]],
            "negative": [row["negative"] for row in found["layers"]]}  # fmt: skip


NO_POINTS = "biases are read from a file, and there are no points"
HISTORY = ("teacher", "checkpoint0", "checkpoint1")
PAIR = ("teacher", "student")
CASES = {
    "agreement": (
        Case("two networks", nets("a", "b"), agreement,
             (*in_common("a", "b"), *outputs_scaled("a", "b"))),
    ),
    "correlation": (
        Case("two networks", with_options(nets("a", "b", widths=(3, 5, 4, 2)), chance=0), correlations,
             (*in_common("a", "b"), *outputs_scaled("a", "b"))),
    ),
    "match": (
        Case("two networks", with_options(nets("a", "b", widths=(3, 5, 4, 2)), most=2), matched,
             (*in_common("a", "b"), *outputs_scaled("a", "b"))),
    ),
    "connect": (
        Case("two of five nodes", with_options(nets("a", "b"), keep=2), connected,
             (*scaled("data", weights=("a", "b")), rotated("data", weights=("a", "b")), units_permuted("a", "b"),
              units_rescaled("a", "b"), *outputs_scaled("a", "b"), float32("data", "a", "b")),
             {"permuted": "points that make the path and points that measure it are taken by their row numbers",
              "repeated": "points that make the path and points that measure it are taken by their row numbers"}),
        Case("half of three layers", with_options(nets("a", "b", widths=(3, 6, 4, 2))), connected,
             (*scaled("data", weights=("a", "b")), rotated("data", weights=("a", "b")), units_permuted("a", "b"),
              units_rescaled("a", "b"), *outputs_scaled("a", "b"), float32("data", "a", "b")),
             {"permuted": "points that make the path and points that measure it are taken by their row numbers",
              "repeated": "points that make the path and points that measure it are taken by their row numbers"}),
    ),
    "strength": (Case("a teacher and two checkpoints", nets(*HISTORY), strengths, in_common(*HISTORY)),),
    "modulation": (
        Case("three layers", nets("network", widths=(3, 5, 4, 2)), modulated,
             (*in_common("network"), *outputs_scaled("network"), outputs_rotated("network"))),
    ),
    "hessian": (
        Case("two layers", with_classes(nets("network")), spectrum,
             (rotated("data", weights=("network",)), permuted("data"), repeated("data"), units_permuted("network"),
              float32("network")),
             {"scaled": "the Hessian depends on the scale of the weights, which that of the inputs determines",
              "units rescaled": "the Hessian depends on the scales of the nodes, which do not change the function"}),
    ),
    "gradient-rule": (
        Case("two networks", nets(*PAIR), rule, (*in_common(*PAIR), *outputs_scaled(*PAIR))),
    ),
    "alignment": (
        Case("two networks", nets(*PAIR), aligned,
             (turned_axes("data", weights=PAIR), permuted("data"), repeated("data"), units_permuted(*PAIR),
              units_rescaled(*PAIR), *outputs_scaled(*PAIR), outputs_rotated(*PAIR), float32("data", *PAIR)),
             {"scaled": "ε is an angle and a distance in the units of the inputs",
              "rotated": "observers are counted on a box, whose axes may be permuted and reflected"}),
    ),
    "batch-norm-bias": (
        Case("a state dict", state_dict, biases,
             (rewritten("units permuted", lambda key, vector, rng: vector[rng.permutation(len(vector))]),
              rewritten("units rescaled", larger_units),
              rewritten("float32", lambda key, vector, rng: vector.astype(np.float32))),
             dict.fromkeys(("scaled", "rotated", "permuted", "repeated"), NO_POINTS)),
    ),
    "prune": (
        Case("three of five nodes", with_options(nets("student"), keep=3), pruned,
             (*scaled("data", weights=("student",)), rotated("data", weights=("student",)), units_permuted("student"),
              units_rescaled("student"), *outputs_scaled("student"), float32("data", "student")),
             {"permuted": "points for the fit, the choice and the test are taken by their row numbers",
              "repeated": "points for the fit, the choice and the test are taken by their row numbers"}),
        Case("two hidden layers", with_options(nets("student", widths=(3, 8, 6, 2)), keep="4,3"), pruned_layers,
             (*scaled("data", weights=("student",)), rotated("data", weights=("student",)), units_permuted("student"),
              units_rescaled("student"), *outputs_scaled("student"), float32("data", "student")),
             {"permuted": "points for the fit, the choice and the test are taken by their row numbers",
              "repeated": "points for the fit, the choice and the test are taken by their row numbers"}),
    ),
}  # fmt: skip
