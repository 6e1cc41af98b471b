"""Changes of a problem under which its answer must not change: for the batteries of theorems and measurements.

A problem is a dictionary of arguments. A change names the arguments that it concerns, for example

    moved("scaled by 1e6", scaling(1e6), points=("X",), weights=("w_star",))

multiplies the points X by 10⁶ and divides the weights w_star by it, so that all products stay what they were.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from relulab.data.labeled import Labeled
from relulab.nets.mlp import MLP
from relulab.subjects.specialization import Box, Nodes

Arguments = dict[str, Any]
Matrix = Callable[[int, np.random.Generator], tuple[np.ndarray, np.ndarray]]  # a matrix and its inverse
SCALES = (1e-100, 1e-6, 1e6, 1e100)


@dataclass(frozen=True)
class Change:
    """Something done to a problem. The answer to the changed problem must be that to the problem ``before``."""

    name: str
    of: Callable[[Arguments, np.random.Generator], Arguments]
    before: Callable[[Arguments], Arguments] = lambda arguments: arguments
    """the problem to compare with, if it is not the given one: a rounded one, for example"""


def scaling(c: float) -> Matrix:
    """The matrix c I."""
    return lambda d, rng: (c * np.eye(d), np.eye(d) / c)


def rotation(d: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """A random rotation or reflection."""
    Q = np.linalg.qr(rng.standard_normal((d, d)))[0]
    return Q, Q.T


def new_axes(d: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Axes in another order, some of them turned around: all that a box allows."""
    A = np.eye(d)[rng.permutation(d)] * rng.choice((-1.0, 1.0), d)
    return A, A.T


def moved(
    name: str, matrix: Matrix, *, points: tuple[str, ...], weights: tuple[str, ...] = (), by: float = 1.0,
    also: Mapping[str, float] | None = None,
) -> Change:  # fmt: skip
    """Map points x to x A, and weights w to A⁻¹ w, so that wᵀx stays the same; multiply numbers by ``by`` ^ power."""

    def of(arguments: Arguments, rng: np.random.Generator) -> Arguments:
        A, inverse = matrix(_inputs(arguments[points[0]]), rng)
        new = {p: _moved(arguments[p], A) for p in points if p in arguments}
        new |= {w: _covariant(arguments[w], inverse) for w in weights if arguments.get(w) is not None}
        new |= {n: arguments[n] * by**power for n, power in (also or {}).items() if n in arguments}
        return arguments | new

    return Change(name, of)


def scaled(*points: str, weights: tuple[str, ...] = (), also: Mapping[str, float] | None = None,
           by: tuple[float, ...] = SCALES) -> tuple[Change, ...]:  # fmt: skip
    """Points times a number, once for every scale."""
    return tuple(moved(f"scaled {c:g}", scaling(c), points=points, weights=weights, by=c, also=also) for c in by)


def multiplied(name: str, *names: str, by: tuple[float, ...] = SCALES) -> tuple[Change, ...]:
    """Arguments times a number, and nothing else."""

    def change(c: float) -> Change:
        return Change(f"{name} {c:g}", lambda a, rng: a | {n: _entries(a[n], lambda t: t * c) for n in names})

    return tuple(map(change, by))


def rotated(*points: str, weights: tuple[str, ...] = ()) -> Change:
    """All points and weights turned together."""
    return moved("rotated", rotation, points=points, weights=weights)


def turned_axes(*points: str, weights: tuple[str, ...] = ()) -> Change:
    """Axes permuted and reflected."""
    return moved("axes", new_axes, points=points, weights=weights)


def rows(name: str, choose: Callable[[int, np.random.Generator], np.ndarray], *names: str) -> Change:
    """The same rows of several arguments."""

    def of(arguments: Arguments, rng: np.random.Generator) -> Arguments:
        given = [n for n in names if n in arguments]
        if not given:  # a case without points, such as one for all Gaussian inputs
            return arguments
        index = choose(_rows(arguments[given[0]]), rng)
        return arguments | {n: _entries(arguments[n], lambda t: t[index]) for n in given}

    return Change(name, of)


def permuted(*names: str) -> Change:
    """Rows in another order."""
    return rows("permuted", lambda n, rng: rng.permutation(n), *names)


def repeated(*names: str) -> Change:
    """Every row twice."""
    return rows("repeated", lambda n, rng: np.tile(np.arange(n), 2), *names)


def own_lengths(*names: str, decades: float = 3.0) -> Change:
    """Every point times a positive number of its own."""

    def of(arguments: Arguments, rng: np.random.Generator) -> Arguments:
        c = 10.0 ** rng.uniform(-decades, decades, (_rows(arguments[names[0]]), 1))
        return arguments | {n: _points(arguments[n], lambda t: t * _like(c, t)) for n in names}

    return Change("own lengths", of)


def exchanged(*names: str) -> Change:
    """The two classes exchanged."""
    return Change("classes exchanged", lambda a, rng: a | {n: _labels(a[n]) for n in names})


def float32(*names: str) -> Change:
    """Numbers in float32 instead of the same numbers in float64."""

    def to(dtype: torch.dtype, a: Arguments) -> Arguments:
        return a | {n: _cast(_cast(a[n], torch.float32), dtype) for n in names if n in a}

    return Change("float32", lambda a, rng: to(torch.float32, a), lambda a: to(torch.float64, a))


def units_permuted(*nets: str) -> Change:
    """Hidden units in another order, in every hidden layer."""

    def shuffle(net: MLP, rng: np.random.Generator) -> MLP:
        net = deepcopy(net)
        for l in range(net.depth - 1):
            order = torch.from_numpy(rng.permutation(net.widths[l + 1]))
            net.W[l].data, net.b[l].data = net.W[l].data[..., order], net.b[l].data[..., order]
            net.W[l + 1].data = net.W[l + 1].data[:, order]
        return net

    def alike(arguments: Arguments, rng: np.random.Generator) -> Arguments:
        seed = int(rng.integers(2**32))  # networks of the same widths get the same order, such as a start and its end
        given = [n for n in nets if arguments.get(n) is not None]
        return arguments | {n: shuffle(arguments[n], np.random.default_rng(seed)) for n in given}

    return Change("units permuted", alike)


def units_rescaled(*nets: str, decades: float = 3.0) -> Change:
    """Each hidden unit times a positive number, which the layer above undoes."""

    def rescale(net: MLP, rng: np.random.Generator) -> MLP:
        net = deepcopy(net)
        for l in range(net.depth - 1):
            c = torch.from_numpy(10.0 ** rng.uniform(-decades, decades, net.widths[l + 1])).to(net.dtype)
            net.W[l].data, net.b[l].data = net.W[l].data * c, net.b[l].data * c
            net.W[l + 1].data = net.W[l + 1].data / c[:, None]
        return net

    return Change("units rescaled", lambda a, rng: a | {n: rescale(a[n], rng) for n in nets})


def units_split(*nets: str) -> Change:
    """Each hidden unit of a two-layer network replaced by two with a share of its output weights each."""

    def split(net: MLP, rng: np.random.Generator) -> MLP:
        d, n, C = net.widths
        share = torch.from_numpy(rng.uniform(0.2, 0.8, (n, 1))).to(net.dtype)
        wide = MLP((d, 2 * n, C), slope=net.slope, dtype=net.dtype)
        wide.W[0].data, wide.b[0].data = torch.cat([net.W[0].data] * 2, -1), torch.cat([net.b[0].data] * 2, -1)
        wide.W[1].data, wide.b[1].data = (
            torch.cat([net.W[1].data * share, net.W[1].data * (1 - share)], 1),
            net.b[1].data,
        )
        return wide

    return Change("units split", lambda a, rng: a | {n: split(a[n], rng) for n in nets})


def outputs_scaled(*nets: str, also: Mapping[str, float] | None = None, by: tuple[float, ...] = SCALES):
    """All outputs times a number."""

    def louder(net: MLP, c: float) -> MLP:
        net = deepcopy(net)
        net.W[-1].data, net.b[-1].data = net.W[-1].data * c, net.b[-1].data * c
        return net

    def change(c: float) -> Change:
        return Change(f"outputs {c:g}", lambda a, rng: a | {n: louder(a[n], c) for n in nets}
                      | {n: a[n] * c**power for n, power in (also or {}).items() if n in a})  # fmt: skip

    return tuple(map(change, by))


def outputs_rotated(*nets: str) -> Change:
    """All outputs turned together, which changes no inner product of output weights."""

    def of(arguments: Arguments, rng: np.random.Generator) -> Arguments:
        Q, new = torch.from_numpy(rotation(arguments[nets[0]].widths[-1], rng)[0]), {}
        for name in nets:
            new[name] = net = deepcopy(arguments[name])
            net.W[-1].data, net.b[-1].data = net.W[-1].data @ Q.to(net.dtype), net.b[-1].data @ Q.to(net.dtype)
        return arguments | new

    return Change("outputs rotated", of)


def _entries(value: Any, f: Callable) -> Any:
    """All arrays of an argument, each changed."""
    if isinstance(value, Labeled):
        return Labeled(f(value.X), f(value.y), value.names)
    return Nodes(*map(f, value)) if isinstance(value, Nodes) else f(value)


def _points(value: Any, f: Callable) -> Any:
    return value._replace(X=f(value.X)) if isinstance(value, Labeled) else f(value)


def _labels(value: Any) -> Any:
    return value._replace(y=-value.y, names=value.names[::-1]) if isinstance(value, Labeled) else -value


def _like(array: np.ndarray, value: Any) -> Any:
    return torch.from_numpy(array).to(value.dtype) if isinstance(value, torch.Tensor) else array.astype(value.dtype)


def _rows(value: Any) -> int:
    return len(value.X if isinstance(value, Labeled) else value.b if isinstance(value, Nodes) else value)


def _inputs(value: Any) -> int:
    if isinstance(value, Box):
        return len(value.low)
    return (value.X if isinstance(value, Labeled) else value).shape[-1]


def _moved(value: Any, A: np.ndarray) -> Any:
    if isinstance(value, Box):  # A only permutes, reflects and scales axes
        ends = torch.stack([value.low, value.high]) @ torch.from_numpy(A)
        return Box(ends.amin(0), ends.amax(0))
    return _points(value, lambda X: X @ _like(A, X))


def _covariant(value: Any, inverse: np.ndarray) -> Any:
    if isinstance(value, MLP):
        net = deepcopy(value)
        net.W[0].data = torch.from_numpy(inverse).to(net.dtype) @ net.W[0].data
        return net
    if isinstance(value, Nodes):
        return value._replace(w=value.w @ torch.from_numpy(inverse.T).to(value.w.dtype))
    if isinstance(value, list):  # factors of a linear student: the first one sees the inputs
        return [value[0] @ _like(inverse.T, value[0]), *value[1:]]
    return value @ _like(inverse.T, value)


def _cast(value: Any, dtype: torch.dtype) -> Any:
    if isinstance(value, Labeled):  # always float64, made from float32 points
        return value._replace(X=value.X.float().double())
    if isinstance(value, Box | Nodes):
        return type(value)(*(t.to(dtype) for t in value))
    if isinstance(value, MLP):
        return deepcopy(value).to(dtype)
    if isinstance(value, list):
        return [_cast(one, dtype) for one in value]
    return value.to(dtype) if isinstance(value, torch.Tensor) else value.astype(str(dtype).removeprefix("torch."))
