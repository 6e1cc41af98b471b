"""How points are spread around hyperplanes: the constants η, μ and τ of a data set (SS definition 6, assumption 3).

The η of definition 6 grows without bound with the number of points N, because some d + 2 points of a random sample lie
in a band of width about N^{−(d+2)/2}. Therefore η and τ take a ``scale``, the half-width of the thinnest band.

Quantities that cannot be computed over all directions are returned as an interval: a lower estimate from some
directions, and an upper bound for all directions.
"""

import math
from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from relulab.core.errors import UserError
from relulab.core.ranges import at_least
from relulab.lab.instrument import instrument
from relulab.nets.hooks import points
from relulab.subjects.specialization.tools.nodes import Nodes, regular

FINE = 4  # spacing of a net of directions: bands move by at most a fourth of the scale
MOST = 5_000_000  # largest number of products of points and directions for a net


class Estimate(NamedTuple):
    """Lower and upper estimates of a number."""

    low: float
    high: float


@instrument(source="SS definition 6, eq. 6", ids=("SS.D",))
def eta(x: Float[Tensor, "N d"], scale: float, *, directions: int = 200, seed: int = 0) -> Estimate:
    """The smallest η for which every band of half-width ε ≥ scale contains at most ηεN + d + 1 of the points.

    The lower estimate comes from the densest bands in some directions. The upper one comes from a net of directions,
    with bands widened by the spacing of the net, if such a net is small enough (d ≤ 2, or d = 3 at a coarse scale).
    Otherwise it is (N − d − 1)/(N · scale).

    Args:
        x: Points, (N, d), with N ≥ d + 1.
        scale: Half the width of the thinnest band, above 0.
        directions: Number of random directions for the lower estimate; equally many normals of hyperplanes through d
            points are tried.
        seed: Seed of the random directions.

    >>> eta(torch.linspace(-1, 1, 201, dtype=torch.float64)[:, None], scale=0.1)
    Estimate(low=0.9900497512437811, high=0.9900497512437811)
    """
    x = _scattered(x)
    N, d = x.shape
    if not 0 < scale < math.inf:
        raise UserError(f"expected a finite scale above 0, got {scale}: choose the half-width of the thinnest band")
    if d + 2 > N:
        return Estimate(0.0, 0.0)  # d + 1 points are always allowed
    low = _densest(x @ _some(x, directions, seed).T, scale, d)
    net = _net(x, scale)
    trivial = max(0.0, (N - d - 1) / (N * scale))
    high = trivial if net is None else min(trivial, _densest(x @ net[0].T, scale, d, net[1]))
    return Estimate(low, max(low, high))


@instrument(source="SS definition 6, eq. 7", ids=("SS.D",))
def mu(x: Float[Tensor, "N d"], *, directions: int = 200, seed: int = 0) -> Estimate:
    """The smallest μ for which |w̃ᵀx| ≥ t at no more than μN/t² of the points, for every unit vector w̃ and every t.

    The lower estimate is the largest value over some directions. The upper one is the largest eigenvalue of the mean of
    xxᵀ (Chebyshev's inequality).

    Args:
        x: Points, (N, d), with N ≥ d + 1.
        directions: Number of random directions for the lower estimate; equally many normals of hyperplanes through d
            points are tried.
        seed: Seed of the random directions.

    >>> mu(torch.tensor([[1.0], [-2.0], [2.0], [1.0]]))
    Estimate(low=2.0, high=2.5)
    """
    x = _scattered(x)
    t = (x @ _some(x, directions, seed).T).abs().sort(0).values
    share = torch.arange(len(x), 0, -1, dtype=x.dtype, device=x.device)[:, None] / len(x)
    high = float(torch.linalg.eigvalsh(x.T @ x / len(x))[-1])
    low = float((t.square() * share).max())
    return Estimate(low, max(low, high))


@instrument(source="SS assumption 3, eq. 8", ids=("SS.D", "SS.T3"))
def tau(nodes: Nodes, x: Float[Tensor, "N d"], scale: float, widest: float) -> Float[Tensor, " m"]:
    """The largest τ_j for which the band of node j contains at least τ_jεN points for all scale ≤ ε ≤ widest.

    The result is exact: the ratio of the count to εN falls between two jumps of the count, so its minimum is just
    before a jump or at ``widest``.

    Args:
        nodes: Nodes j, for instance ``lowest(teacher)``, with weights (m, d) and biases (m,).
        x: Points, (N, d).
        scale: Half the width of the thinnest band, above 0.
        widest: Half the width of the widest band, at least ``scale``.

    >>> x = torch.linspace(-1, 1, 201, dtype=torch.float64)[:, None]
    >>> round(float(tau(Nodes(torch.ones(1, 1).double(), torch.zeros(1).double()), x, 0.1, 0.5)[0]), 2)
    0.95
    """
    if not 0 < scale <= widest:
        raise UserError(f"expected 0 < scale ≤ widest, got scale = {scale} and widest = {widest}: change one of them")
    u, c = regular(nodes)
    if x.dim() != 2 or x.shape[1] != u.shape[1] or not len(x):
        raise UserError(
            f"expected points of shape (points, {u.shape[1]}) for nodes with {u.shape[1]} inputs, got "
            f"{tuple(x.shape)}: reshape them or use other points"
        )
    t = (x @ u.T + c).abs().sort(0).values
    within = (t > scale) & (t <= widest)
    before = torch.arange(len(x), dtype=x.dtype, device=x.device)[:, None] / (t.where(within, 1) * len(x))
    end = (t <= widest).sum(0).to(x.dtype) / (widest * len(x))
    return torch.minimum(before.where(within, torch.inf).amin(0), end).where(u.abs().amax(1) > 0, 0)


def _scattered(x: Tensor) -> Float[Tensor, "N d"]:
    """Return the points in float64, at least d + 1 of them."""
    x = points(x).double()
    if x.dim() != 2 or len(x) < x.shape[1] + 1:
        raise UserError(
            f"expected a table of at least d + 1 points with d entries, got shape {tuple(x.shape)}: use more points"
        )
    return x


def _some(x: Tensor, directions: int, seed: int) -> Float[Tensor, "k d"]:
    """Return axes, principal directions, random directions, and normals of hyperplanes through d points."""
    at_least(1, directions=directions)
    N, d = x.shape
    generator = torch.Generator().manual_seed(int(seed))
    random = torch.randn(directions, d, generator=generator, dtype=x.dtype).to(x.device)
    principal = torch.linalg.eigh(x.T @ x).eigenvectors.T
    rows = torch.randint(N, (directions, d), generator=generator).to(x.device)
    through = torch.linalg.svd(torch.nn.functional.pad(x[rows], (0, 1), value=1.0))[2][:, -1, :d]
    candidates = torch.cat([torch.eye(d, dtype=x.dtype, device=x.device), principal, random, through])
    norm = candidates.norm(dim=1, keepdim=True)
    return (candidates / norm)[norm[:, 0] > 1e-9]


def _net(x: Tensor, scale: float) -> tuple[Float[Tensor, "k d"], float] | None:
    """Return a net of directions and how far a band may move between them; None if the net would be too large."""
    N, d = x.shape
    if d == 1:
        return x.new_ones(1, 1), 0.0
    radius = float((x - (x.amax(0) + x.amin(0)) / 2).norm(dim=1).max())
    spacing = scale / FINE / max(radius, 1e-300)  # largest distance of a unit vector from the net
    k = math.ceil(math.pi / (2 * spacing)) if d == 2 else math.ceil(math.sqrt(2) / spacing)
    if d > 3 or (k if d == 2 else 3 * k**2) * N > MOST:
        return None
    if d == 2:
        phi = torch.arange(k, dtype=x.dtype, device=x.device) * (math.pi / k)
        net = torch.stack([phi.cos(), phi.sin()], 1)
        far = 2 * math.sin(math.pi / (4 * k))
    else:  # grids on the faces of a cube, projected onto the sphere, which does not increase distances
        s = (torch.arange(k, dtype=x.dtype, device=x.device) + 0.5) * (2 / k) - 1
        a, b = (t.flatten() for t in torch.meshgrid(s, s, indexing="ij"))
        one = torch.ones_like(a)
        net = torch.cat([torch.stack(p, 1) for p in ((one, a, b), (a, one, b), (a, b, one))])
        net, far = net / net.norm(dim=1, keepdim=True), math.sqrt(2) / k
    return net, far * radius


def _densest(t: Float[Tensor, "N k"], scale: float, d: int, widened: float | None = None) -> float:
    """The supremum of (points in a window − d − 1)/(εN) over windows of half-width ε ≥ scale, one direction per column.

    Only some counts of points are tried, which gives a lower estimate. With ``widened``, the result is an upper bound:
    windows are widened by that distance, and each count is replaced by the largest one before the next count tried.
    """
    N, best = len(t), 0.0
    t = t.sort(0).values
    counts = sorted(
        {*range(d + 2, min(N, 200) + 1), *(int(200 * 1.05**i) for i in range(300) if 200 * 1.05**i <= N), N}
    )
    for count, following in zip(counts, [*counts[1:], N + 1], strict=True):
        half = float((t[count - 1 :] - t[: N - count + 1]).min()) / 2 - (widened or 0.0)
        contained = count if widened is None else following - 1
        best = max(best, (contained - d - 1) / (max(half, scale) * N))
    return best
