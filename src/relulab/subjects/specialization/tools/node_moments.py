"""Moments of the nodes that layers read, E[f fᵀ] and E[β], in blocks of points."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import ceil, prod

import torch
from jaxtyping import Float
from torch import Tensor

from relulab.core.followed import followed
from relulab.core.seeds import Role, stream
from relulab.nets.eval_mode import eval_mode
from relulab.nets.hooks import fitted
from relulab.nets.stages import Structure
from relulab.nets.tracing import values

ENTRIES = 2e7  # numbers in all values of a block of points, which are held for the gradients
WORK = 3e8  # numbers in all values of all points; of more points, some are left out
LEAST = 1000  # points that are used in any case
ROWS = 200_000  # rows of a matrix of second moments; of more, positions are chosen at random
EXACT = 32  # up to this many outputs, gradients of all; of more, this many random combinations of them


@dataclass(frozen=True)
class Moments:
    """Moments of the n nodes of a value, over points and, for channels, positions.

    Attributes:
        mean: E[f_k], (n,).
        second: E[f_k f_k'], (n, n).
        beta: E[β_kk'] = E[Σ_p Σ_c ∂f_{L,c}/∂f_{k,p} ∂f_{L,c}/∂f_{k',p}], (n, n), where f_L are the outputs of the
            network and p the positions.
    """

    mean: Float[Tensor, " n"]
    second: Float[Tensor, "n n"]
    beta: Float[Tensor, "n n"]


def moments(of: Structure, x: Tensor, root: int = 0) -> dict[str, Moments]:
    """Return the moments of every value that a layer reads.

    Gradients are computed for a block of points at a time, and only sums over points are kept. Of many points of a
    large network, some are used, at least 1,000. Of images, some positions are chosen at random if there are very many.
    With more than 32 outputs, the sum over outputs is estimated without bias by the gradients of 32 combinations of
    them with random signs.

    Args:
        of: The structure of a network.
        x: Points that the network takes, (N, …).
        root: Root seed of the positions and signs.
    """
    read = {reader.value: stage.nodes for stage in of.stages for reader in stage.readers}
    rng = torch.Generator().manual_seed(int(stream(root, Role.CHANCE, 0).integers(2**63)))
    x = fitted(of.net, x)
    with eval_mode(of.net), torch.enable_grad():
        _, all_values = values(of.graph, x[:1])
        entries = sum(v.numel() for v in all_values.values() if isinstance(v, Tensor))
        x = x[:: ceil(len(x) / max(LEAST, WORK / entries))]
        sums = {value: _Sums(nodes, len(x)) for value, nodes in read.items()}
        for part in followed(x.split(max(1, int(ENTRIES / entries))), "computing gradients"):
            y, found = values(of.graph, part.detach().requires_grad_(), read)
            for value, f in found.items():
                sums[value].look(f.detach(), rng)
            for gradients in _gradients(y.flatten(1), [found[value] for value in read], rng):
                for value, g in zip(read, gradients, strict=True):
                    sums[value].lean(g)
    return {value: found.means(len(x)) for value, found in sums.items()}


def _gradients(y: Tensor, f: Sequence[Tensor], rng: torch.Generator) -> Iterator[list[Tensor]]:
    """Yield gradients of which the outer products add up to β: of each output, or of random combinations."""
    outputs = y.shape[1]
    if outputs <= EXACT:
        rows = torch.eye(outputs, dtype=y.dtype)[:, None].expand(-1, len(y), -1)
    else:
        signs = 2 * torch.randint(2, (EXACT, *y.shape), generator=rng) - 1
        rows = signs.to(y.dtype) / EXACT**0.5
    for i, row in enumerate(rows):
        grads = torch.autograd.grad(y, f, row.to(y.device), retain_graph=i + 1 < len(rows), allow_unused=True)
        yield [torch.zeros_like(v) if g is None else g for g, v in zip(grads, f, strict=True)]


class _Sums:
    """Sums over points for one value."""

    def __init__(self, nodes: int, points: int):
        self.nodes, self.points = nodes, points
        self.places = torch.zeros(0, dtype=torch.long)
        self.rows, self.scale = 0, 1.0
        self.first = torch.zeros(nodes, dtype=torch.float64)
        self.second, self.beta = (torch.zeros(nodes, nodes, dtype=torch.float64) for _ in range(2))

    def look(self, f: Tensor, rng: torch.Generator) -> None:
        """Add activations, and choose the positions for this block."""
        count = prod(f.shape[1:]) // self.nodes
        chosen = max(1, ceil(ROWS / self.points))
        self.places = torch.randperm(count, generator=rng)[:chosen] if chosen < count else torch.arange(count)
        self.scale = count / len(self.places)
        rows = self._rows(f)
        self.rows += len(rows)
        self.first += rows.sum(0)
        self.second += rows.T @ rows

    def lean(self, g: Tensor) -> None:
        """Add the gradient of an output with respect to the value."""
        rows = self._rows(g)
        self.beta += self.scale * (rows.T @ rows)

    def means(self, points: int) -> Moments:
        return Moments(self.first / self.rows, self.second / self.rows, self.beta / points)

    def _rows(self, f: Tensor) -> Float[Tensor, "rows n"]:
        """One row per point and position."""
        at = f.reshape(len(f), self.nodes, -1)[:, :, self.places.to(f.device)]
        return at.movedim(1, -1).reshape(-1, self.nodes).double()
