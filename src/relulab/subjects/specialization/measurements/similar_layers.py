"""Layers of two networks compared as wholes, by SVCCA: rows of a document, and text."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from relulab.lab.show.parts import Fact, Line, Part
from relulab.lab.show.words import number
from relulab.subjects.specialization.tools.layer_svcca import LayerSvcca


def with_svcca(rows: Sequence[dict[str, Any]], found: Mapping[str, LayerSvcca]) -> list[dict[str, Any]]:
    """Return the rows of all layers and lanes with what SVCCA says about them.

    Args:
        rows: One row per layer and lane, as returned by ``matches``.
        found: SVCCA by layer, as returned by ``layer_svcca``.

    Returns:
        Rows with a dictionary ``svcca``: the ``mean`` of the canonical correlations, all of them as ``rho``, the
        numbers of directions ``kept_a`` and ``kept_b``, and the mean by chance, with random points and random weights.
    """
    lanes = [one for layer in found.values() for one in _lanes(layer)]
    return [row | {"svcca": one} for row, one in zip(rows, lanes, strict=True)]


def _lanes(layer: LayerSvcca) -> Iterator[dict[str, Any]]:
    canonical = layer.found
    rho = canonical.rho.reshape(-1, canonical.rho.shape[-1])
    for i, kept in enumerate(zip(*(_flat(k, len(rho)) for k in canonical[1:]), strict=True)):
        chance = [None if not len(draws) else float(draws.reshape(len(draws), -1)[:, i].mean()) for draws in layer[1:]]
        kept_a, kept_b = (int(k) for k in kept)
        yield {
            "mean": float(canonical.mean.flatten()[i]), "rho": rho[i, : min(kept_a, kept_b)].tolist(),
            "kept_a": kept_a, "kept_b": kept_b, "random_points": chance[0], "random_weights": chance[1],
        }  # fmt: skip


def _flat(kept: Any, lanes: int) -> list[int]:
    """The number of kept directions of every lane; a single network is compared with all lanes."""
    return kept.flatten().expand(lanes).tolist()


def svcca_parts(layer: dict[str, Any]) -> Iterator[Part]:
    """Yield what SVCCA says about a layer, if it was computed.

    Args:
        layer: A row of ``with_svcca``, or of ``matches``.
    """
    if "svcca" not in layer:
        return
    found = layer["svcca"]
    by_chance = [(found["random_weights"], "with random weights"), (found["random_points"], "with random points")]
    chance = ", ".join(f"{number(mean)} {words}" for mean, words in by_chance if mean is not None)
    yield Fact("mean canonical correlation", number(found["mean"]) + (f" ({chance})" if chance else ""))
    yield Fact("directions with 99% of the variance", f"{found['kept_a']:,} in A, {found['kept_b']:,} in B")
    if chance:
        yield Line("Canonical correlations compare what linear maps of the layers have in common (SVCCA).", "quiet")
        yield Line("Random layers share the inputs, and with few points also directions by chance.", "quiet")
