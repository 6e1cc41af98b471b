"""How points are scattered about hyperplanes: the constants η, μ and τ of a data set (SS definition 6, assumption 3).

No random sample has an η that is free of scale: some d + 2 of N points lie in a band about as thin as N^{−(d+2)/2}, so
that the η of definition 6 grows without bound with N. So η and τ are asked for at a ``scale``, the thinnest band that
counts.
What cannot be computed over all directions is given as an estimate from below, found on some directions, and one from
above, which holds for all.
"""

import math
from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from relulab.core.errors import UserError
from relulab.lab.instrument import instrument
from relulab.nets.hooks import points
from relulab.subjects.specialization.tools.nodes import Nodes, regular

FINE = 4  # directions of a net lie so close that a band widens by no more than a fourth of its scale
MOST = 5_000_000  # products of points and directions that a net may cost


class Estimate(NamedTuple):
    """A number known to lie between two."""

    low: float
    high: float


@instrument(source="SS definition 6, eq. 6", ids=("SS.D",))
def eta(x: Float[Tensor, "N d"], scale: float, *, directions: int = 200, seed: int = 0) -> Estimate:
    """The least η for which every band of half-width ε ≥ scale holds at most ηεN + d + 1 of the points.

    From below: the densest bands across some directions. From above: a net of directions, each band widened by what
    lies between them, where such a net is affordable (d up to 2, or 3 at a coarse scale); else (N − d − 1)/(N scale).

    Args:
        x: Points, (N, d), at least d + 1.
        scale: Half the width of the thinnest band that counts, above 0.
        directions: Random directions, and as many across d of the points, that are tried for the estimate from below.
        seed: Seed of these directions.

    >>> eta(torch.linspace(-1, 1, 201, dtype=torch.float64)[:, None], scale=0.1)
    Estimate(low=0.9900497512437811, high=0.9900497512437811)
    """
    x = _scattered(x)
    N, d = x.shape
    if not 0 < scale < math.inf:
        raise UserError(f"scale {scale}: the half-width of the thinnest band, above 0")
    if d + 2 > N:
        return Estimate(0.0, 0.0)  # the d + 1 that are granted
    found = _densest(x @ _some(x, directions, seed).T, scale, d)
    net = _net(x, scale)
    trivial = max(0.0, (N - d - 1) / (N * scale))
    above = trivial if net is None else min(trivial, _densest(x @ net[0].T, scale, d, net[1]))
    return Estimate(found, max(found, above))


@instrument(source="SS definition 6, eq. 7", ids=("SS.D",))
def mu(x: Float[Tensor, "N d"], *, directions: int = 200, seed: int = 0) -> Estimate:
    """The least μ for which |w̃ᵀx| ≥ t at no more than μN/t² of the points, for every unit w̃ and every t.

    From below: the worst t on some directions. From above: the largest eigenvalue of the mean of xxᵀ, by Chebyshev.

    Args:
        x: Points, (N, d), at least d + 1.
        directions: Random directions, and as many across d of the points, that are tried for the estimate from below.
        seed: Seed of these directions.

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
    """The largest τ_j for which the band of node j holds at least τεN points at every scale ≤ ε ≤ widest. Exact.

    Between two jumps of the count the ratio falls, so it is least just before one, or at ``widest``.

    Args:
        nodes: Nodes whose boundaries are meant, with weights (m, d) and biases (m,).
        x: Points, (N, d).
        scale: Half the width of the thinnest band, above 0.
        widest: Half the width of the widest band, at least ``scale``.

    >>> x = torch.linspace(-1, 1, 201, dtype=torch.float64)[:, None]
    >>> round(float(tau(Nodes(torch.ones(1, 1).double(), torch.zeros(1).double()), x, 0.1, 0.5)[0]), 2)
    0.95
    """
    if not 0 < scale <= widest:
        raise UserError(f"bands from {scale} to {widest}: 0 < scale ≤ widest was expected")
    u, c = regular(nodes)
    if x.dim() != 2 or x.shape[1] != u.shape[1] or not len(x):
        raise UserError(f"points of shape {tuple(x.shape)} for nodes of {u.shape[1]} inputs")
    t = (x @ u.T + c).abs().sort(0).values
    within = (t > scale) & (t <= widest)
    before = torch.arange(len(x), dtype=x.dtype, device=x.device)[:, None] / (t.where(within, 1) * len(x))
    end = (t <= widest).sum(0).to(x.dtype) / (widest * len(x))
    return torch.minimum(before.where(within, torch.inf).amin(0), end).where(u.abs().amax(1) > 0, 0)


def _scattered(x: Tensor) -> Float[Tensor, "N d"]:
    x = points(x).double()
    if x.dim() != 2 or len(x) < x.shape[1] + 1:
        raise UserError(f"points of shape {tuple(x.shape)}: at least d + 1 rows of d entries were expected")
    return x


def _some(x: Tensor, directions: int, seed: int) -> Float[Tensor, "k d"]:
    """Axes, principal directions, random ones, and normals of hyperplanes through d of the points."""
    N, d = x.shape
    generator = torch.Generator().manual_seed(seed)
    random = torch.randn(directions, d, generator=generator, dtype=x.dtype).to(x.device)
    principal = torch.linalg.eigh(x.T @ x).eigenvectors.T
    rows = torch.randint(N, (directions, d), generator=generator).to(x.device)
    through = torch.linalg.svd(torch.nn.functional.pad(x[rows], (0, 1), value=1.0))[2][:, -1, :d]
    found = torch.cat([torch.eye(d, dtype=x.dtype, device=x.device), principal, random, through])
    norm = found.norm(dim=1, keepdim=True)
    return (found / norm)[norm[:, 0] > 1e-9]


def _net(x: Tensor, scale: float) -> tuple[Float[Tensor, "k d"], float] | None:
    """Directions so close that no band of half-width ``scale`` moves by more than the returned width; None if many."""
    N, d = x.shape
    if d == 1:
        return x.new_ones(1, 1), 0.0
    radius = float((x - (x.amax(0) + x.amin(0)) / 2).norm(dim=1).max())
    wanted = scale / FINE / max(radius, 1e-300)  # distance of unit vectors
    k = math.ceil(math.pi / (2 * wanted)) if d == 2 else math.ceil(math.sqrt(2) / wanted)
    if d > 3 or (k if d == 2 else 3 * k**2) * N > MOST:
        return None
    if d == 2:
        phi = torch.arange(k, dtype=x.dtype, device=x.device) * (math.pi / k)
        net = torch.stack([phi.cos(), phi.sin()], 1)
        far = 2 * math.sin(math.pi / (4 * k))
    else:  # the faces of a cube, pushed onto the sphere, which brings points no farther apart
        s = (torch.arange(k, dtype=x.dtype, device=x.device) + 0.5) * (2 / k) - 1
        a, b = (t.flatten() for t in torch.meshgrid(s, s, indexing="ij"))
        one = torch.ones_like(a)
        net = torch.cat([torch.stack(p, 1) for p in ((one, a, b), (a, one, b), (a, b, one))])
        net, far = net / net.norm(dim=1, keepdim=True), math.sqrt(2) / k
    return net, far * radius


def _densest(t: Float[Tensor, "N k"], scale: float, d: int, widened: float | None = None) -> float:
    """sup over windows of half-width ε ≥ scale of (points in it − d − 1)/(εN), a direction a column.

    From below over some numbers of points; with ``widened`` from above, as if windows held the points that come within
    that distance of them, and as many as fit between one number that is tried and the next.
    """
    N, best = len(t), 0.0
    t = t.sort(0).values
    counts = sorted(
        {*range(d + 2, min(N, 200) + 1), *(int(200 * 1.05**i) for i in range(300) if 200 * 1.05**i <= N), N}
    )
    for count, following in zip(counts, [*counts[1:], N + 1], strict=True):
        half = float((t[count - 1 :] - t[: N - count + 1]).min()) / 2 - (widened or 0.0)
        held = count if widened is None else following - 1
        best = max(best, (held - d - 1) / (max(half, scale) * N))
    return best
