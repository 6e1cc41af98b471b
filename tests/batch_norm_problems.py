"""Problems with BatchNorm for the battery of theorems: cases with known verdicts, and changes of networks."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy

import numpy as np
import torch
from changes import Arguments, Change, float32, multiplied, permuted, repeated, rotation, scaled
from theorem_battery import Case, Cases
from torch import nn

from relulab.lab.theorem import Verdict
from relulab.subjects.specialization.tools.batch_norm_nets import fully_connected

HOLDS, REFUTED, NOT_APPLICABLE = Verdict.HOLDS, Verdict.REFUTED, Verdict.NOT_APPLICABLE


def batch(rng: np.random.Generator, **options) -> dict:
    """Values of four units with own means and scales, and gradients."""
    f, g = (torch.from_numpy(rng.standard_normal((40, 4))) for _ in range(2))
    f = f * torch.tensor([0.5, 1.0, 2.0, 3.0]) + torch.tensor([0.0, 1.0, -2.0, 5.0])
    return {"f": f, "g": g, "c_0": torch.from_numpy(rng.uniform(0.5, 2, 4)), **options}


def constant(rng: np.random.Generator) -> dict:
    problem = batch(rng)
    problem["f"][:, 1] = 0.75
    return problem


def columns(name: str, change: Callable) -> Change:
    """The columns of f, g and c_0 changed alike."""

    def of(arguments: Arguments, rng: np.random.Generator) -> Arguments:
        return arguments | change(arguments, rng)

    return Change(name, of)


def reordered(arguments: Arguments, rng: np.random.Generator) -> Arguments:
    order = torch.from_numpy(rng.permutation(len(arguments["c_0"])))
    return {name: arguments[name].index_select(-1, order) for name in ("f", "g", "c_0")}


def of_own_size(arguments: Arguments, rng: np.random.Generator) -> Arguments:
    size = torch.from_numpy(10.0 ** rng.uniform(-3, 3, arguments["f"].shape[1])).to(arguments["f"].dtype)
    return {"f": arguments["f"] * size}


EPSILON = 0.5
GRADIENT = Cases(
    (
        Case("no ε", HOLDS, batch),
        Case("a large ε", HOLDS, lambda rng: batch(rng, epsilon=EPSILON), but=("units rescaled",)),
        Case("a constant unit", NOT_APPLICABLE, constant),
        Case("as printed, with ε", REFUTED, lambda rng: batch(rng, epsilon=EPSILON, as_printed=True),
             but=("units rescaled",)),
        Case("only the mean projected out", REFUTED, lambda rng: batch(rng, only_mean=True)),
    ),
    (*scaled("f", also={"epsilon": 2.0}), *multiplied("gradients", "g"), permuted("f", "g"), repeated("f", "g"),
     columns("units permuted", reordered), columns("units rescaled", of_own_size), float32("f", "g")),
    {"rotated": "a unit has one value per sample, so there are no axes to rotate"},
)  # fmt: skip


def problem(
    rng: np.random.Generator, order="before the ReLU", *, bare: int = 0, stored: bool = False, **options
) -> dict:
    """A network with two hidden layers, points and targets."""
    net = fully_connected((4, 6, 5, 2), order, rng, bare=bare)
    x, y = (torch.from_numpy(rng.standard_normal((40, n))) for n in (4, 2))
    if stored:
        net(x)
        net.eval()
    return {"net": net, "x": x, "y": y, **options}


def same_everywhere(rng: np.random.Generator) -> dict:
    """A unit with no weights has its bias at all points."""
    given = problem(rng)
    given["net"][0].weight.data[2] = 0.0
    return given


def changed(name: str, change: Callable[[nn.Sequential, Arguments, np.random.Generator], Arguments]) -> Change:
    """A change of a copy of the network."""

    def of(arguments: Arguments, rng: np.random.Generator) -> Arguments:
        net = deepcopy(arguments["net"])
        with torch.no_grad():
            return arguments | {"net": net} | change(net, arguments, rng)

    return Change(name, of)


def larger(c: float) -> Change:
    def change(net: nn.Sequential, arguments: Arguments, rng: np.random.Generator) -> Arguments:
        net[0].weight /= c
        return {"x": c * arguments["x"]}

    return changed(f"scaled {c:g}", change)


def turned(net: nn.Sequential, arguments: Arguments, rng: np.random.Generator) -> Arguments:
    Q = torch.from_numpy(rotation(arguments["x"].shape[1], rng)[0]).to(arguments["x"].dtype)
    net[0].weight.copy_(net[0].weight @ Q.to(net[0].weight.dtype))
    return {"x": arguments["x"] @ Q}


def linears(net: nn.Sequential) -> list[nn.Linear]:
    return [module for module in net if isinstance(module, nn.Linear)]


def units_reordered(net: nn.Sequential, arguments: Arguments, rng: np.random.Generator) -> Arguments:
    """Units of the hidden layers in another order; those of BatchNorm are all alike at the start."""
    for below, above in zip(linears(net), linears(net)[1:], strict=False):
        order = torch.from_numpy(rng.permutation(below.out_features))
        below.weight.copy_(below.weight[order])
        below.bias.copy_(below.bias[order])
        above.weight.copy_(above.weight[:, order])
    return {}


def normalized_rescaled(net: nn.Sequential, arguments: Arguments, rng: np.random.Generator) -> Arguments:
    """Units of the first layer times positive numbers, which BatchNorm undoes."""
    first = net[0]
    c = torch.from_numpy(2.0 ** rng.uniform(-1, 1, first.out_features)).to(first.weight.dtype)
    first.weight.mul_(c[:, None])
    first.bias.mul_(c)
    return {}


CONSERVED = Cases(
    (
        Case("BatchNorm before the ReLU", HOLDS, problem),
        Case("BatchNorm after the ReLU", HOLDS, lambda rng: problem(rng, "after the ReLU")),
        Case("no BatchNorm", NOT_APPLICABLE, lambda rng: problem(rng, "no BatchNorm"), but=("units rescaled",)),
        Case("stored statistics", NOT_APPLICABLE, lambda rng: problem(rng, stored=True)),
        Case("weight decay", NOT_APPLICABLE, lambda rng: problem(rng, weight_decay=0.1)),
        Case("a constant unit", NOT_APPLICABLE, same_everywhere),
        Case("a large ε", NOT_APPLICABLE, lambda rng: problem(rng, epsilon=1e-3)),
        Case("the bias left out", REFUTED, lambda rng: problem(rng, "after the ReLU", with_bias=False)),
        Case("a layer without BatchNorm", REFUTED, lambda rng: problem(rng, bare=1, everywhere=True)),
    ),
    (larger(0.5), larger(2.0), changed("rotated", turned), permuted("x", "y"), repeated("x", "y"),
     changed("units permuted", units_reordered), changed("units rescaled", normalized_rescaled),
     Change("float32", lambda a, rng: to(a, torch.float32), lambda a: to(to(a, torch.float32), torch.float64))),
)  # fmt: skip


def to(arguments: Arguments, dtype: torch.dtype) -> Arguments:
    """Network, points and targets in another precision."""
    return arguments | {"net": deepcopy(arguments["net"]).to(dtype)} | {n: arguments[n].to(dtype) for n in ("x", "y")}
