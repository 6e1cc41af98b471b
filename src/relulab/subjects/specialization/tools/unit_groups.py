"""Which units of B do the work of each unit of A: one, several that do it each, or several that do it together."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor, nn

from relulab.core.errors import UserError
from relulab.core.followed import followed
from relulab.core.ranges import at_least
from relulab.nets.hooks import hidden, points
from relulab.nets.mlp import MLP
from relulab.subjects.specialization.instruments.correlation import paired_layers
from relulab.subjects.specialization.tools.matching import one_to_one

CHUNK = 500  # points per pass
APART = 1e-9  # share of its variance that must be left of a unit for it to be selected
CONSTANT = 1e-12  # share of the second moment up to which a variance is rounding


@dataclass(frozen=True, repr=False)
class Match:
    """The units of B that match a unit of A.

    Attributes:
        unit: The unit of A.
        best: The unit of B that correlates best with it; None if the unit of A is constant, such as a dead ReLU.
        rho: Their correlation.
        partner: The unit of B in the one-to-one matching; None if there are fewer units in B.
        partner_rho: Their correlation.
        each: The units of B that correlate with it above the threshold, and with no other unit of A more, the best
            first.
        each_rho: Their correlations.
        together: The units of B whose best linear combination follows it: as few as reach the threshold, or as many as
            are allowed.
        together_rho: The correlation of that combination with the unit, on points that did not choose it.
    """

    unit: int
    best: int | None
    rho: float
    partner: int | None
    partner_rho: float | None
    each: tuple[int, ...]
    each_rho: tuple[float, ...]
    together: tuple[int, ...]
    together_rho: float

    def __repr__(self) -> str:
        if self.best is None:
            return f"Match({self.unit}: constant)"
        pair = "no partner" if self.partner is None else f"{self.partner} (ρ {self.partner_rho:.3f})"
        each, together = (", ".join(map(str, units)) or "none" for units in (self.each, self.together))
        return f"Match({self.unit}: {pair}; each: {each}; together: {together} (ρ {self.together_rho:.3f}))"


def match(
    a: nn.Module,
    b: nn.Module,
    x: Tensor | np.ndarray,
    layers: Sequence[tuple[str, str]] | None = None,
    *,
    threshold: float = 0.95,
    most: int = 4,
) -> dict[str, list[Match]]:
    r"""Find which units of B do the work of each unit of A, in each hidden layer.

    Three questions are answered: which unit of B is the partner of a unit of A if every unit has one partner; which
    units of B follow it each, as in LM's many-to-one mappings; and which few units of B follow it together. The last
    are found by forward selection on every second point, each time the unit that raises the multiple correlation most;
    the score is measured on the other points.

    Args:
        a: A network: any module with activation modules, or an ``MLP`` with one lane. Channels are units, and pixels
            are samples.
        b: Another such network.
        x: Points that both take, (N, …), at least 8.
        layers: Pairs of layers, as in ``layer_correlations``. Default: all, in order.
        threshold: Correlation from which a unit, or a combination of units, counts as a match, between 0 and 1.
        most: Largest number of units in a combination, at least 1.

    Returns:
        For each layer of B, or pair of layers, the matches of all units of A.

    >>> net = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2))
    >>> {found.partner for found in match(net, net, torch.randn(20, 3))["1"]} <= {0, 1, 2, 3}
    True
    """
    x = points(x)
    at_least(1, most=most)
    if not 0 < threshold < 1:
        raise UserError(f"expected a threshold between 0 and 1, got {threshold}: use one such as 0.95")
    if not x.dim() or len(x) < 8:
        given = len(x) if x.dim() else "a single number"
        raise UserError(f"expected at least 8 points, half of them to choose units, got {given}: use more points")
    for net in (a, b):
        if isinstance(net, MLP) and net.lanes != 1:
            raise UserError(f"expected one network, got {net.lanes} lanes: select one with net.lane(i)")
    sums: dict[str, tuple[_Sums, _Sums]] = {}
    for start in followed(range(0, len(x), CHUNK), "computing activations"):
        for half in (0, 1):
            part = x[start : start + CHUNK][half::2]
            if len(part):
                for name, f_a, f_b in paired_layers(hidden(a, part), hidden(b, part), layers):
                    halves = sums.setdefault(name, (_Sums(), _Sums()))
                    halves[half].add(_rows(f_a), _rows(f_b), halves[0].shift)
    return {name: _matches(*halves, threshold, most) for name, halves in sums.items()}


def _rows(f: Tensor) -> Float[Tensor, "N n"]:
    return f.reshape(-1, f.shape[-1]).double()


class _Sums:
    """Sums over samples of the units of A and B, next to each other."""

    def __init__(self) -> None:
        self.count, self.m = 0, 0
        self.shift: Tensor | None = None

    def add(self, f_a: Float[Tensor, "N m"], f_b: Float[Tensor, "N_ n"], shift: Tensor | None) -> None:
        """Add samples; a shift is subtracted first, by default the mean of the first ones."""
        if len(f_a) != len(f_b):
            raise UserError(
                f"expected layers with the same number of positions, got {len(f_a)} and {len(f_b)} samples: compare "
                "layers whose pictures have the same size"
            )
        f = torch.cat([f_a, f_b], 1)
        if self.shift is None:
            self.m, self.shift = f_a.shape[1], f.mean(0) if shift is None else shift
            self.first, self.second = torch.zeros_like(self.shift), f.new_zeros(f.shape[1], f.shape[1])
        f = f - self.shift  # avoids cancellation
        self.count += len(f)
        self.first += f.sum(0)
        self.second += f.T @ f

    def with_(self, other: "_Sums") -> "_Sums":
        """Return the sums over the samples of both, which have the same shift."""
        both = _Sums()
        both.count, both.m, both.shift = self.count + other.count, self.m, self.shift
        both.first, both.second = self.first + other.first, self.second + other.second
        return both

    def covariance(self) -> Float[Tensor, "k k"]:
        """Return the covariances, 0 for units that are constant up to rounding."""
        assert self.shift is not None
        mean = self.first / self.count
        cov = self.second / self.count - torch.outer(mean, mean)
        size = cov.diagonal() + (mean + self.shift).square()
        constant = cov.diagonal() <= CONSTANT * size
        cov[constant], cov[:, constant] = 0, 0
        return cov


def _matches(choose: _Sums, test: _Sums, threshold: float, most: int) -> list[Match]:
    m = choose.m
    first, second = choose.covariance(), test.covariance()
    rho = _correlations(choose.with_(test).covariance())[:m, m:]
    partner, best = one_to_one(rho).tolist(), rho.max(1)
    owner = rho.argmax(0)
    found = []
    for j, row in enumerate(rho):
        each = ((row >= threshold) & (owner == j)).nonzero()[:, 0]
        each = each[row[each].argsort(descending=True, stable=True)]
        together = _selected(first, j, m, threshold, most)
        alive = bool(first[j, j] > 0) and bool(second[j, j] > 0)
        found.append(
            Match(
                j, int(best.indices[j]) if alive else None, float(best.values[j]),
                partner[j] if partner[j] >= 0 else None, float(row[partner[j]]) if partner[j] >= 0 else None,
                tuple(each.tolist()), tuple(row[each].tolist()), tuple(together), _score(first, second, j, m, together),
            )
        )  # fmt: skip
    return found


def _correlations(cov: Float[Tensor, "k k"]) -> Float[Tensor, "k k"]:
    std = cov.diagonal().sqrt()
    std = std.where(std > 0, torch.inf)
    return (cov / std[:, None] / std).clamp(-1, 1)


def _selected(cov: Float[Tensor, "k k"], j: int, m: int, threshold: float, most: int) -> list[int]:
    """Select units of B one by one, each time the one that explains most of what is left of unit j of A.

    After each selection, the covariances that are left are those of the residuals: C ← C − c cᵀ/C_kk, where c is the
    column of the selected unit. Only the row of unit j and the diagonal are needed.
    """
    row, spread, own = cov[j].clone(), cov.diagonal().clone(), cov.diagonal()[m:]
    steps, chosen = list[Tensor](), list[int]()
    while float(own.max()) > 0 and len(chosen) < most and float(spread[j]) > (1 - threshold**2) * float(cov[j, j]):
        free = spread[m:] > APART * own
        gain = torch.where(free, row[m:].square() / spread[m:].where(free, 1), 0)
        k = m + int(gain.argmax())
        if float(gain[k - m]) <= CONSTANT * float(cov[j, j]):
            break
        step = cov[k] - sum((u * u[k] for u in steps), torch.zeros_like(row))
        step = step / step[k].sqrt()
        row, spread = row - step * step[j], spread - step.square()
        steps.append(step)
        chosen.append(k - m)
    return chosen


def _score(first: Float[Tensor, "k k"], second: Float[Tensor, "k k"], j: int, m: int, chosen: list[int]) -> float:
    """Return the correlation of unit j with a combination of units whose coefficients are fitted on the first half."""
    at = [m + k for k in chosen]
    if not at or float(second[j, j]) <= 0:
        return 0.0
    coefficients = torch.linalg.lstsq(first[at][:, at], first[at, j][:, None], driver="gelsd").solution[:, 0]
    variance = float(coefficients @ second[at][:, at] @ coefficients)
    if variance <= 0:
        return 0.0
    return min(1.0, float(coefficients @ second[at, j]) / (variance * float(second[j, j])) ** 0.5)
