"""Teachers: distinct unit-norm filters, about half of the inputs active, strengths that fall as 1/j^p."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Literal

import numpy as np
import torch
from jaxtyping import Float64

from relulab.core.errors import UserError, nearest
from relulab.core.seeds import Role, stream
from relulab.data.inputs import Inputs
from relulab.nets.mlp import MLP

GRID = np.arange(-4, 5) / 4  # −1, −0.75, …, 1
MEDIAN_SAMPLE = 10_000


def teacher(
    widths: Sequence[int],
    *,
    seeds: Sequence[int],
    polarity: float | Sequence[float] = 0.0,
    bias: float | Literal["median"] = -0.1,
    fan_out: Literal["released", "exact"] = "released",
    inputs: Inputs | None = None,
    root: int = 0,
    slope: float = 0.0,
) -> MLP:
    r"""One teacher a lane, in float64: lane i from the streams of ``seeds[i]``, with polarity p_i.

    Filters have entries from {−1, −0.75, …, 1} and norm one; no two of a hidden layer are co-linear. The strength of
    node j falls as ‖v*_j‖ ~ 1/j^p, j = 1, 2, … (SS eq. 10), in every layer but the first of weights.

    Args:
        widths: Units of each layer, the inputs first: (d, …, C).
        seeds: One seed per lane.
        polarity: The power p, one number for all lanes or one per lane; 0 makes all nodes about equally strong.
        bias: −0.1 on every node, the output too, is what the authors ran (47 % active for N(0, 1.5² I), d = 100).
            "median" sets each hidden bias to minus the median of what enters on 10,000 draws of ``inputs``, so that
            exactly half are active, and the output's to 0, as the text of SS appendix F asks.
        fan_out: "released" divides row j of the grid weights by j^p, so the law holds up to the rows' own norms;
            "exact" gives the rows norm one first. In both, hidden filters are scaled to norm one afterwards.
        inputs: The law of the inputs, which "median" needs; otherwise None.
        root: Root of all random streams.
        slope: Slope of the leaky ReLU below 0, from 0 (plain ReLU) to below 1.

    >>> t = teacher((10, 4, 3), seeds=[0, 0], polarity=[0, 1])
    >>> bool((t.W[0].data[0] == t.W[0].data[1]).all()), round(float(t.W[1].data[1, 3, 0] / t.W[1].data[0, 3, 0]), 6)
    (True, 0.25)
    """
    _validate(widths, seeds, polarity, bias, fan_out, inputs)
    net = MLP(widths, lanes=len(seeds), slope=slope, dtype=torch.float64)
    for i, (seed, p) in enumerate(zip(seeds, np.broadcast_to(polarity, len(seeds)), strict=True)):
        rng = stream(root, Role.TEACHER, seed)
        for l, (n, k) in enumerate(pairwise(widths)):
            top = l + 1 == net.depth
            W = _filters(rng, n, k, distinct=not top).T
            if l:
                W = _fan_out(rng, W)
                W = W / np.linalg.norm(W, axis=1, keepdims=True) if fan_out == "exact" else W
                W = W / (np.arange(1, n + 1) ** float(p))[:, None]
            if not top:
                W = W / np.linalg.norm(W, axis=0)
            net.W[l].data[i] = torch.from_numpy(W)
    if bias == "median":
        assert inputs is not None
        _center(net, inputs, seeds, root)
    else:
        for b in net.b:
            b.data.fill_(bias)
    return net


def _validate(widths, seeds, polarity, bias, fan_out, inputs) -> None:
    if bias == "median" and inputs is None:
        raise UserError("bias='median' needs the inputs whose median it takes: pass inputs=Gaussian(d, std)")
    if isinstance(bias, str) and bias != "median":
        raise UserError(f"bias={bias!r}: a number, or 'median'")
    if fan_out not in ("released", "exact"):
        raise UserError(f"fan_out={fan_out!r}: {nearest(str(fan_out), ('released', 'exact'))}")
    if inputs is not None and inputs.d != widths[0]:
        raise UserError(f"inputs of dimension {inputs.d} for a teacher that takes {widths[0]}")
    if np.size(polarity) not in (1, len(seeds)):
        raise UserError(f"{np.size(polarity)} polarities for {len(seeds)} seeds: give one, or one a seed")


def _filters(rng: np.random.Generator, n: int, k: int, distinct: bool) -> Float64[np.ndarray, "k n"]:
    """k grid vectors in R^n, none zero and, if ``distinct``, no two co-linear; rejected ones are drawn again."""
    kept: list[np.ndarray] = []
    directions = np.empty((0, n))
    for _ in range(1000 + 10 * k):
        w = rng.choice(GRID, size=n)
        norm = np.linalg.norm(w)
        if norm and not (distinct and (abs(directions @ w) > norm * (1 - 1e-12)).any()):
            kept.append(w)
            directions = np.vstack([directions, w / norm])
        if len(kept) == k:
            return np.array(kept)
    raise UserError(
        f"{k} filters of distinct directions in R^{n} were not found on the grid {{-1, -0.75, …, 1}}: "
        "take fewer nodes or more inputs"
    )


def _fan_out(rng: np.random.Generator, W: Float64[np.ndarray, "n k"]) -> Float64[np.ndarray, "n k"]:
    """W with other rows in place of zero ones: a node that leads nowhere could not be learned."""
    W = W.copy()
    for row in W:
        while not row.any():
            row[:] = rng.choice(GRID, size=len(row))
    return W


@torch.no_grad()
def _center(net: MLP, inputs: Inputs, seeds: Sequence[int], root: int) -> None:
    """Layer by layer, biases that make every hidden unit active on half of the inputs."""
    for i, seed in enumerate(seeds):
        x = torch.from_numpy(inputs.draw(stream(root, Role.TEACHER, seed, 1), MEDIAN_SAMPLE))
        below = x
        for W, b in zip(net.W[:-1], net.b[:-1], strict=True):
            z = below @ W[i]
            b[i, 0] = -z.quantile(0.5, dim=0)
            below = torch.nn.functional.leaky_relu(z + b[i], net.slope)
