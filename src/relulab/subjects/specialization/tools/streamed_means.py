"""Means over samples of products of activations, gates and top-down matrices, without keeping them per sample.

The bias unit is the last unit of every layer: its activation and its gate are 1, and its row of W has the biases.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int, Shaped
from torch import Tensor

from relulab.nets.mlp import MLP
from relulab.subjects.specialization.instruments.top_down import augmented

ENTRIES = 2_000_000  # largest number of entries of a block of activations or top-down matrices
SMALL = 1_000_000  # multiply-adds of a product below which the overhead of one call per sample dominates


@dataclass(frozen=True)
class Network:
    """One network in float64: W[l] leads from layer l to layer l + 1; rows and columns of the bias unit come last."""

    W: list[Float[Tensor, "_ _"]]
    slope: float

    @classmethod
    def of(cls, net: MLP, lane: int) -> "Network":
        """Return a lane of an MLP.

        Args:
            net: The networks.
            lane: Number of the lane.
        """
        one = net.lane(lane)
        return cls([augmented(one, l)[0].detach().double() for l in range(net.depth)], net.slope)

    @property
    def depth(self) -> int:
        """The number L of layers of weights."""
        return len(self.W)

    def run(self, x: Float[Tensor, "N d"]) -> tuple[list[Float[Tensor, "N _"]], list[Float[Tensor, "N _"]]]:
        """Return the activations f_0, …, f_L and the gates D_0, …, D_{L−1}, where f_0 are the inputs and D_0 = 1.

        Args:
            x: Points, (N, d).
        """
        f = [torch.cat([x, x.new_ones(len(x), 1)], 1)]
        D = [torch.ones_like(f[0])]
        for W in self.W[:-1]:
            z = f[-1] @ W
            D.append(torch.where(z > 0, z.new_ones(()), z.new_tensor(self.slope)))
            f.append(D[-1] * z)
        return [*f, f[-1] @ self.W[-1]], D


@dataclass(frozen=True)
class Means:
    """Means over N points for a network a and a network b, which may be the same.

    Attributes:
        L: E[f_l f*_lᵀ] for l = 0, …, L − 1.
        D: E[f'_l f*'_lᵀ] for l = 0, …, L − 1, where layer 0 has only ones.
        beta: E[β_l] = E[V_lᵀ V*_l] for l = 1, …, L, where the last one is the identity; ``beta[0]`` belongs to layer 1.
    """

    L: list[Float[Tensor, "_ _"]]
    D: list[Float[Tensor, "_ _"]]
    beta: list[Float[Tensor, "_ _"]]

    def H(self, l: int) -> Float[Tensor, "n1 m1"]:
        """H_l = E[β_l] ∘ D_l for l = 1, …, L (LM section 2).

        Args:
            l: Number of the layer.
        """
        return self.beta[l - 1] * self.D[l] if l < len(self.D) else self.beta[l - 1]


def blocks_of(x: Shaped[Tensor, "N *d"], *nets: Network, rows: int = 1) -> Sequence[Shaped[Tensor, "N_ *d"]]:
    """Split points into blocks such that no matrix of a block is large.

    Args:
        x: Points, (N, d), or their indices.
        nets: The networks that are applied to them.
        rows: Number of rows of this width that are kept per point.
    """
    widest = max(max(W.shape) for net in nets for W in net.W)
    return x.split(max(1, ENTRIES // (rows * widest)))


@torch.no_grad()
def streamed_means(a: Network, others: Sequence[Network], x: Float[Tensor, "N d"]) -> list[Means]:
    r"""Compute the means for network a with each of the others, in one pass over blocks of points.

    With V_{l−1} = V_l D_l W_{l−1}ᵀ, the mean of β_{l−1} = V_{l−1}ᵀ V*_{l−1} is W_{l−1} E[D_l β_l D*_l] W*_{l−1}ᵀ. So
    only means of D_l β_l D*_l have to be accumulated, and these need no samples at the top: β_{L−1} = W_{L−1} W*_{L−1}ᵀ
    is constant, so that E[D_{L−1} β_{L−1} D*_{L−1}] = β_{L−1} ∘ E[f'_{L−1} f*'_{L−1}ᵀ]. For networks with up to three
    layers of weights, the means of the gates are therefore enough. In deeper ones the matrices V_l D_l with C rows are
    computed sample by sample; their columns and rows of inactive units are zero and left out.

    Args:
        a: A network.
        others: Networks with the same inputs, outputs and depth; a itself for the unstarred means.
        x: Points, (N, d), in float64.
    """
    top = _top(a, others)
    L = [[_zeros(a, b, l) for l in range(a.depth)] for b in others]
    D = [[_zeros(a, b, l) for l in range(a.depth)] for b in others]
    G = [{l: _zeros(a, b, l) for l in range(2, a.depth - 1)} for b in others]  # sums of D_l β_l D*_l
    for part in blocks_of(x, a, *others):
        runs = {id(net): net.run(part) for net in (a, *others)}
        f, gates = runs[id(a)]
        for i, b in enumerate(others):
            f_star, gates_star = runs[id(b)]
            for l in range(a.depth):
                L[i][l].addmm_(f[l].T, f_star[l])
                D[i][l].addmm_(gates[l].T, gates_star[l])
        if a.depth > 3:
            _accumulate(a, others, top, {key: run[1] for key, run in runs.items()}, G)
    means = []
    for i, b in enumerate(others):
        for l in range(a.depth):
            L[i][l] /= len(x)
            D[i][l] /= len(x)
        means.append(Means(L[i], D[i], _betas(a, b, D[i], {l: sums / len(x) for l, sums in G[i].items()})))
    return means


def _zeros(a: Network, b: Network, l: int) -> Tensor:
    return a.W[l].new_zeros(a.W[l].shape[0], b.W[l].shape[0])


def _betas(a: Network, b: Network, D: list[Tensor], G: dict[int, Tensor]) -> list[Tensor]:
    """Return E[β_1], …, E[β_L] from the means of D_l β_l D*_l."""
    outputs = a.W[-1].shape[1]
    betas = [torch.eye(outputs, dtype=a.W[-1].dtype, device=a.W[-1].device)]
    for l in range(a.depth, 1, -1):  # from layer l to layer l − 1
        H = betas[0] if l == a.depth else betas[0] * D[l] if l == a.depth - 1 else G[l]
        betas.insert(0, a.W[l - 1] @ H @ b.W[l - 1].T)
    return betas


def _top(a: Network, others: Sequence[Network]) -> dict[int, Float[Tensor, "C _"]]:
    """Return V_{L−1} = W_{L−1}ᵀ of every network, in as few rows as possible: only V_lᵀ V*_l is needed."""
    nets = list({id(net): net for net in (a, *others)}.values())
    V = torch.cat([net.W[-1].T for net in nets], 1)
    if V.shape[0] > V.shape[1]:
        V = torch.linalg.qr(V, mode="r").R
    return {id(net): part for net, part in zip(nets, V.split([net.W[-1].shape[0] for net in nets], 1), strict=True)}


def _accumulate(
    a: Network,
    others: Sequence[Network],
    top: dict[int, Tensor],
    gates: dict[int, list[Tensor]],
    G: list[dict[int, Tensor]],
) -> None:
    """Add D_l β_l D*_l of a block of points to the sums, for l = L − 2, …, 2."""
    nets = {id(net): net for net in (a, *others)}
    rows = top[id(a)].shape[0]
    if _by_point(a, rows) and not any(net.slope for net in nets.values()):
        for i in range(len(gates[id(a)][0])):
            V = {key: _active(net, top[key], [D[i] for D in gates[key]]) for key, net in nets.items()}
            for sums, b in zip(G, others, strict=True):
                for l, total in sums.items():
                    (here, V_l), (there, V_star) = V[id(a)][l], V[id(b)][l]
                    _add(total, here, there, V_l.T @ V_star)
        return
    for part in blocks_of(torch.arange(len(gates[id(a)][0])), *nets.values(), rows=rows):
        V = {key: _gated(net, top[key], [D[part] for D in gates[key]]) for key, net in nets.items()}
        for sums, b in zip(G, others, strict=True):
            for l, total in sums.items():
                total.addmm_(V[id(a)][l].flatten(0, 1).T, V[id(b)][l].flatten(0, 1))


def _active(net: Network, V: Tensor, D: list[Tensor]) -> dict[int, tuple[Int[Tensor, " _"], Float[Tensor, "C _"]]]:
    """Return for l = L − 2, …, 2 the active units of layer l at one point, and the columns of V_l of these units."""
    above = D[-1].nonzero()[:, 0]
    found, V = {}, V.index_select(1, above)
    for l in range(net.depth - 2, 1, -1):
        here = D[l].nonzero()[:, 0]
        V = V @ net.W[l].index_select(0, here).index_select(1, above).T
        found[l], above = (here, V), here
    return found


def _gated(net: Network, V: Tensor, D: list[Tensor]) -> dict[int, Float[Tensor, "N C _"]]:
    """Return V_l D_l at a block of points for l = L − 2, …, 2."""
    found, VD = {}, V * D[-1].unsqueeze(1)
    for l in range(net.depth - 2, 1, -1):
        found[l] = VD = (VD @ net.W[l].T).mul_(D[l].unsqueeze(1))
    return found


def _add(total: Tensor, rows: Tensor, columns: Tensor, values: Tensor) -> None:
    """Add values to some rows and columns of a matrix."""
    where = rows.unsqueeze(1) * total.shape[1] + columns
    total.view(-1).index_add_(0, where.flatten(), values.flatten())


@torch.no_grad()
def mean_square_columns(net: Network, x: Float[Tensor, "N d"]) -> list[Float[Tensor, " _"]]:
    r"""Compute E[β_kk] = E‖V_l e_k‖² for l = 1, …, L − 1, without matrices that have a row and a column per node.

    Only the layer below the top one needs E[f' f'ᵀ] of the top one, which is as large as its weights.

    Args:
        net: The network.
        x: Points, (N, d), in float64.
    """
    if net.depth < 2:
        return []
    V = _top(net, [net])[id(net)]
    squares = [net.W[l].new_zeros(net.W[l].shape[0]) for l in range(1, net.depth)]
    squares[-1] = V.square().sum(0)
    if net.depth < 3:
        return squares
    both = net.W[-1].new_zeros(V.shape[1], V.shape[1])
    for part in blocks_of(x, net, rows=len(V) if net.depth > 3 else 1):
        D = net.run(part)[1]
        both.addmm_(D[-1].T, D[-1])
        if net.depth > 3:
            _add_squares(net, V, D, squares)
    H = (V.T @ V) * (both / len(x))
    squares[-2] = ((net.W[-2] @ H) * net.W[-2]).sum(1)
    return [*(s / len(x) for s in squares[:-2]), *squares[-2:]]


def _add_squares(net: Network, V: Tensor, D: list[Tensor], squares: list[Tensor]) -> None:
    """Add the squares of the columns of V_l at a block of points, for l = L − 3, …, 1."""
    if _by_point(net, len(V)):
        for i in range(len(D[0])):
            for l, (above, V_l) in _active(net, V, [D_l[i] for D_l in D]).items():
                squares[l - 2] += (V_l @ net.W[l - 1].index_select(1, above).T).square_().sum(0)
        return
    for l, V_l in _gated(net, V, D).items():
        squares[l - 2] += (V_l @ net.W[l - 1].T).square_().sum((0, 1))


def _by_point(net: Network, rows: int) -> bool:
    """Whether it is faster to go through the points one by one and multiply only what belongs to active units."""
    return not net.slope and rows * min(W.numel() for W in net.W[2:-1]) > SMALL
