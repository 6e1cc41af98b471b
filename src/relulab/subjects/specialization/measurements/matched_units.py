"""The units of two networks matched with each other, as rows and as text."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from torch import Tensor, nn

from relulab.core.errors import UserError
from relulab.lab.show.parts import Fact, Line, Part, first_rows
from relulab.lab.show.words import number
from relulab.nets.hooks import hidden
from relulab.subjects.specialization.instruments.correlation import (
    best_match,
    constant_units,
    paired_layers,
    recovered,
    rho_mean,
)
from relulab.subjects.specialization.tools.matching import one_to_one

SHOWN = 30  # largest number of table rows
NAMED = 20  # largest number of constant units that are named


def layer_pairs(text: str | None) -> list[tuple[str, str]] | None:
    """Return the pairs of layers to compare, or None for all in order.

    Args:
        text: Pairs A:B, by number from 1 or by name, separated by commas.
    """
    if text is None:
        return None
    found = [tuple(part.strip() for part in pair.split(":")) for pair in text.split(",")]
    if any(len(pair) != 2 or not all(pair) for pair in found):
        raise UserError(f"--layer: expected pairs A:B such as 1:2 or 1:1,2:3, got {text}")
    return [(pair[0], pair[1]) for pair in found]


def of_lanes(rho: Mapping[str, Tensor]) -> list[tuple[str, Tensor]]:
    """Return every matrix with the name of its layer, and of its lane if there are several.

    Args:
        rho: Correlations by layer, (m, n) or (lane, m, n).
    """
    matrices = []
    for layer, matrix in rho.items():
        lanes = matrix.reshape(-1, *matrix.shape[-2:])
        matrices += [(layer if len(lanes) == 1 else f"{layer}, lane {i}", lane) for i, lane in enumerate(lanes)]
    return matrices


def constant_of(
    a: nn.Module, b: nn.Module, x: Tensor, layers: Sequence[tuple[str, str]] | None = None
) -> dict[str, tuple[Tensor, Tensor]]:
    """Return which units of A and of B are constant on the points, such as dead ReLUs, for each pair of layers.

    Args:
        a: A network.
        b: Another network.
        x: Points, (N, d).
        layers: Pairs of layers, as in ``layer_correlations``.
    """
    pairs = paired_layers(hidden(a, x), hidden(b, x), layers)
    return {name: (constant_units(f_a), constant_units(f_b)) for name, f_a, f_b in pairs}


def matches(
    rho: Mapping[str, Tensor],
    threshold: float,
    chance: Mapping[str, Tensor] | None = None,
    constant: Mapping[str, tuple[Tensor, Tensor]] | None = None,
) -> list[dict[str, Any]]:
    """Summarize the correlations, one row per hidden layer and lane.

    Args:
        rho: Correlations by layer, as returned by ``layer_correlations``.
        threshold: Correlation above which a unit counts as recovered.
        chance: Best correlations with shuffled weights, as returned by ``chance_correlations``.
        constant: Which units are constant, as returned by ``constant_of``.

    Returns:
        Rows with the numbers of units ``a`` and ``b``, ``rho_mean``, the same by chance as ``chance_mean``, the largest
        correlation by chance of any unit as ``chance_largest``, the numbers of units ``recovered`` and
        ``above_chance``, the units that are ``constant_a`` and ``constant_b``, the mean
        correlation ``matched_mean`` of the one-to-one matching, and all units of A as ``nodes``.
    """
    rows, names = [], iter(name for name, _ in of_lanes(rho))
    for layer, matrix in rho.items():
        lanes = matrix.reshape(-1, *matrix.shape[-2:])
        for i, lane in enumerate(lanes):
            by_chance = chance[layer].reshape(-1, len(lanes), lane.shape[0])[:, i] if chance else None
            constants = [_of_lane(units, i) for units in constant[layer]] if constant else [[], []]
            rows.append({"layer": next(names)} | _row(lane, threshold, by_chance, *constants))
    return rows


def _of_lane(constant: Tensor, i: int) -> list[int]:
    lanes = constant.reshape(-1, constant.shape[-1])
    return lanes[min(i, len(lanes) - 1)].nonzero()[:, 0].tolist()


def _row(
    rho: Tensor, threshold: float, chance: Tensor | None, constant_a: list[int], constant_b: list[int]
) -> dict[str, Any]:
    (best, student), partner = best_match(rho), one_to_one(rho)
    together = rho.gather(1, partner.clamp(min=0)[:, None])[:, 0]
    ceiling = None if chance is None else chance.amax(0)
    nodes = [
        {
            "node": j, "best": int(student[j]), "rho": _rounded(best[j]),
            "partner": int(partner[j]) if partner[j] >= 0 else None,
            "partner_rho": _rounded(together[j]) if partner[j] >= 0 else None,
            "chance": None if ceiling is None else _rounded(ceiling[j]), "constant": j in constant_a,
        }
        for j in range(len(rho))
    ]  # fmt: skip
    matched = together[partner >= 0]
    return {
        "a": rho.shape[0], "b": rho.shape[1], "rho_mean": float(rho_mean(rho)), "matched_mean": float(matched.mean()),
        "recovered": int(recovered(rho, threshold).sum()), "constant_a": constant_a, "constant_b": constant_b,
        "chance_mean": None if chance is None else float(chance.mean()),
        "chance_largest": None if ceiling is None else _rounded(ceiling.max()),
        "above_chance": None if ceiling is None else int((best > ceiling.max()).sum()), "nodes": nodes,
    }  # fmt: skip


def _rounded(x: Tensor) -> float:
    return round(float(x), 6)


def layer_parts(layer: dict[str, Any], threshold: float, draws: int) -> Iterator[Part]:
    """Yield the facts and the table of one layer.

    Args:
        layer: A row of ``matches``.
        threshold: Correlation above which a unit counts as recovered.
        draws: Number of comparisons with random weights.
    """
    yield Line(f"Layer {layer['layer']}", "strong")
    yield Fact("units recovered", f"{layer['recovered']:,} of {layer['a']:,} (ρ > {threshold:g})")
    if draws:
        ceiling = f"ρ > {number(layer['chance_largest'])}, the largest with random weights"
        yield Fact("units above chance", f"{layer['above_chance']:,} of {layer['a']:,} ({ceiling})")
    chance = "" if layer["chance_mean"] is None else f" (by chance {number(layer['chance_mean'])})"
    yield Fact("mean best correlation ρ_mean", f"{number(layer['rho_mean'])}{chance}")
    yield Fact("mean correlation, one-to-one", number(layer["matched_mean"]))
    yield Fact("units", f"{layer['a']:,} in A, {layer['b']:,} in B")
    yield Fact("dead units", f"{_units(layer['constant_a'])} in A, {_units(layer['constant_b'])} in B")
    columns = ("unit of A", "best unit of B", "ρ", "one-to-one unit", "its ρ", *(("by chance",) if draws else ()))
    nodes = sorted(layer["nodes"], key=lambda node: (node["constant"], -node["rho"]))
    yield from first_rows(columns, [_cells(node, bool(draws)) for node in nodes], SHOWN, "--json or --out")
    yield Line("Dead units have the same activation at all points. They correlate with nothing.", "quiet")
    if draws:
        times = "once" if draws == 1 else f"{draws} times"
        yield Line(f"By chance: the largest ρ of the unit when the weights of B are shuffled, {times}.", "quiet")


def _units(constant: list[int]) -> str:
    if not constant:
        return "none"
    names = ", ".join(map(str, constant[:NAMED])) + (", …" if len(constant) > NAMED else "")
    return f"{len(constant):,} ({names})"


def _cells(node: dict[str, Any], with_chance: bool) -> tuple[str, ...]:
    chance = (f"{node['chance']:.4f}",) if with_chance else ()
    if node["constant"]:
        return str(node["node"]), "dead", "–", "–", "–", *(("–",) if with_chance else ())
    partner = ("–", "–") if node["partner"] is None else (str(node["partner"]), f"{node['partner_rho']:.4f}")
    return str(node["node"]), str(node["best"]), f"{node['rho']:.4f}", *partner, *chance
