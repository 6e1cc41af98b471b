"""Which units of B do the work of each unit of A: one, several that do it each, several that do it together."""

from collections.abc import Iterator
from dataclasses import asdict
from typing import Annotated, Any, ClassVar

from annotated_types import Ge, Gt, Lt

from relulab.core.errors import UserError
from relulab.lab.inputs.two_networks import TwoNetworks
from relulab.lab.measurement import Measurement, Outcome
from relulab.lab.show.parts import Fact, Line, Part, first_rows
from relulab.subjects.specialization.measurements.matched_units import layer_pairs
from relulab.subjects.specialization.tools.unit_groups import Match, match

SHOWN = 30  # largest number of table rows
NAMED = 6  # largest number of units that are named in a cell


class MatchOfNetworks(TwoNetworks, Measurement):
    """Find which units of B do the work of each unit of A: a partner, several units each, or several together."""

    name: ClassVar = "match"
    source: ClassVar = "LM section 3.3, many-to-one mapping"
    endings: ClassVar = (".csv",)
    kept: ClassVar = "all matches, one row per pair of units"

    threshold: Annotated[float, Gt(0), Lt(1)] = 0.95
    """Correlation from which a unit, or a combination of units, matches."""
    most: Annotated[int, Ge(1)] = 4
    """Largest number of units in a combination."""
    layer: str | None = None
    """Layers to compare, A:B, by number from 1 or by name, such as 1:2 or 1:1,2:3. Default: all, in order."""

    def measure(self) -> Outcome:
        a, b, x = self.load()
        found = match(a.double(), b.double(), x, layer_pairs(self.layer), threshold=self.threshold, most=self.most)
        if not found:
            raise UserError(
                f"{self.a} and {self.b} have no hidden layer and so no units to match: use networks with a ReLU"
            )
        layers = [_row(name, matches, self.threshold) for name, matches in found.items()]
        document = {
            "a": str(self.a), "b": str(self.b), "data": str(self.data), "threshold": self.threshold,
            "most": self.most, "layers": layers,
        }  # fmt: skip
        parts = [part for layer in layers for part in _parts(layer, self.threshold)]
        notes = [
            Line("One-to-one: every unit of B is the partner of at most one unit of A.", "quiet"),
            Line("Each: units of B that follow the unit, and no other unit of A more closely.", "quiet"),
            Line("Together: units whose combination follows it. Half of the points choose, the others score.", "quiet"),
        ]  # fmt: skip
        return Outcome(document, [*parts, *notes], files={".csv": lambda: _csv(found)})


def _row(name: str, matches: list[Match], threshold: float) -> dict[str, Any]:
    alone = [m for m in matches if m.rho >= threshold]
    return {
        "layer": name, "units": len(matches), "constant": sum(m.best is None for m in matches),
        "matched": len(alone), "several": sum(len(m.each) > 1 for m in matches),
        "together": sum(m.rho < threshold <= m.together_rho for m in matches),
        "nodes": [{key: list(v) if isinstance(v, tuple) else v for key, v in asdict(m).items()} for m in matches],
    }  # fmt: skip


def _parts(layer: dict[str, Any], threshold: float) -> Iterator[Part]:
    count = f"of {layer['units']:,}"
    yield Line(f"Layer {layer['layer']}", "strong")
    yield Fact("matched by one unit", f"{layer['matched']:,} {count} (ρ ≥ {threshold:g})")
    yield Fact("matched by several, each", f"{layer['several']:,} {count}")
    yield Fact("matched only together", f"{layer['together']:,} {count}")
    yield Fact("dead units of A", f"{layer['constant']:,} {count}")
    columns = ("unit of A", "one-to-one", "ρ", "each", "together", "its ρ")
    nodes = sorted(layer["nodes"], key=lambda node: (node["best"] is None, -node["together_rho"]))
    left = frozenset({"each", "together"})
    yield from first_rows(columns, [_cells(node) for node in nodes], SHOWN, "--json or --out", left=left)


def _cells(node: dict[str, Any]) -> tuple[str, ...]:
    if node["best"] is None:
        return str(node["unit"]), "dead", "–", "–", "–", "–"
    partner = ("–", "–") if node["partner"] is None else (str(node["partner"]), f"{node['partner_rho']:.4f}")
    return (
        str(node["unit"]), *partner, _named(node["each"]), _named(node["together"]), f"{node['together_rho']:.4f}",
    )  # fmt: skip


def _named(units: list[int]) -> str:
    return ", ".join(map(str, units[:NAMED])) + (", …" if len(units) > NAMED else "") if units else "none"


def _csv(found: dict[str, list[Match]]) -> bytes:
    """Return a CSV table with one row per match: how a unit of B matches a unit of A, and the correlation."""
    lines = ["layer,a,how,b,rho"]
    for layer, matches in found.items():
        for m in matches:
            rows = [("one-to-one", m.partner, m.partner_rho)] if m.partner is not None else []
            rows += [("each", k, rho) for k, rho in zip(m.each, m.each_rho, strict=True)]
            rows += [("together", k, m.together_rho) for k in m.together]
            lines += [f'"{layer}",{m.unit},{how},{k},{rho!r}' for how, k, rho in rows]
    return ("\n".join(lines) + "\n").encode()


MEASUREMENT = MatchOfNetworks
