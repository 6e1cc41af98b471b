"""The biases of BatchNorm in saved networks: shares of negative ones by layer (LM section 4.1, figures 6 and 18)."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

from matplotlib.figure import Figure

from relulab.core.share import percents, share
from relulab.io.saved_batch_norms import SavedNorms, saved_batch_norms
from relulab.lab.measurement import Measurement, Outcome
from relulab.lab.show.figure import headline, house_style
from relulab.lab.show.parts import Fact, Line, Part, first_rows
from relulab.lab.show.words import number
from relulab.lab.theorem import finite
from relulab.nets.batch_norm_layers import Place
from relulab.subjects.specialization.tools.bias_picture import bias_picture
from relulab.subjects.specialization.tools.layer_biases import LayerBiases, biases_of, together, trend

SHOWN = 60  # largest number of table rows of a network
HEADS = ("layer", "place", "biases", "negative", "95% interval", "median", "active")


class BatchNormBias(Measurement):
    """Count the negative biases of BatchNorm in every layer, with the share of samples that pass the ReLU behind it."""

    name: ClassVar = "batch-norm-bias"
    title: ClassVar = "networks with BatchNorm"
    source: ClassVar = "LM section 4.1, figures 6 and 18"
    ids: ClassVar = ("LM.F6",)
    arguments: ClassVar = ("networks",)
    endings: ClassVar = (".npz",)
    kept: ClassVar = "the biases c_1 and weights c_0 of every layer"
    drawn: ClassVar = "histograms of the biases by layer"

    networks: list[Path]
    """Networks: .safetensors, .npz, .pt, .pth or .pt2."""

    def load(self) -> tuple[list[SavedNorms]]:
        """Return the BatchNorm layers of every file."""
        found = [saved_batch_norms(path) for path in self.networks]
        for norms in found:
            for text in norms.notes:
                self.note(text)
        return (found,)

    def measure(self) -> Outcome:
        (found,) = self.load()
        measured = [biases_of(norms.layers, str(path)) for path, norms in zip(self.networks, found, strict=True)]
        documents = [_document(path, layers) for path, layers in zip(self.networks, measured, strict=True)]
        return Outcome(
            {"networks": documents},
            [part for document in documents for part in _parts(document)],
            arrays=lambda: _arrays(self.networks, measured),
            picture=lambda: _picture(self.networks, measured),
        )


def _document(path: Path, layers: list[LayerBiases]) -> dict[str, Any]:
    negative, count = together(layers)
    whole, depth = share(negative, count), trend([layer.share.value for layer in layers])
    places = {place.value: together(layers, place) for place in Place}
    return {
        "network": str(path), "biases": count, "negative": negative, "share": whole._asdict(),
        "trend": {key: finite(value) for key, value in depth._asdict().items()},
        "places": [{"place": p, "negative": n, "biases": of} for p, (n, of) in places.items() if of],
        "layers": [layer.row() for layer in layers],
    }  # fmt: skip


def _parts(document: dict[str, Any]) -> Iterator[Part]:
    rows, depth = document["layers"], document["trend"]
    yield Line(document["network"], "strong")
    yield Fact("BatchNorm layers", f"{len(rows):,}")
    yield Fact("negative biases", f"{document['negative']:,} of {document['biases']:,}, {_interval(document)}")
    if len(document["places"]) > 1:
        for place in document["places"]:
            yield Fact(f"… {place['place']}", f"{place['negative']:,} of {place['biases']:,}")
    interval = f"{number(depth['value'])} [{number(depth['low'])}, {number(depth['high'])}]"
    few = "unknown: there are fewer than five layers, or all shares are equal"
    yield Fact("rank correlation with depth", few if depth["value"] is None else interval)
    yield from first_rows(HEADS, [_row(row) for row in rows], SHOWN, "--json", left=frozenset(HEADS[:2]))
    yield Line(
        "active: mean share of samples that pass the ReLU behind BatchNorm if its inputs are normal, Φ(c_1/|c_0|).",
        "quiet",
    )
    told = dict.fromkeys(f"{row['place']} ({row['told_by']})" for row in rows if row["told_by"])
    if told:
        yield Line(f"The place was told by: {', '.join(told)}.", "quiet")
    yield Line("Intervals treat the units of a layer as independent.", "quiet")


def _interval(document: dict[str, Any]) -> str:
    return percents(share(document["negative"], document["biases"]))


def _row(row: dict[str, Any]) -> tuple[str, ...]:
    passes = row["place"] in (Place.RELU, Place.UNKNOWN)
    return (
        row["layer"], row["place"], f"{row['biases']:,}", f"{row['share']:.0%}",
        f"{row['low']:.0%} to {row['high']:.0%}", number(row["median"]), f"{row['active']:.0%}" if passes else "–",
    )  # fmt: skip


def _arrays(paths: list[Path], measured: list[list[LayerBiases]]) -> dict[str, Any]:
    arrays = {}
    for label, layers in zip(_labels(paths), measured, strict=True):
        for one in layers:
            prefix = f"{label}/{one.layer.name}" if len(paths) > 1 else one.layer.name
            arrays[f"{prefix}/c_1"] = one.layer.bias.numpy()
            if one.layer.weight is not None:
                arrays[f"{prefix}/c_0"] = one.layer.weight.numpy()
    return arrays


def _picture(paths: list[Path], measured: list[list[LayerBiases]]) -> Figure:
    biases = [{one.layer.name: one.layer.bias.double().numpy() for one in layers} for layers in measured]
    with house_style():
        figure = bias_picture(dict(zip(_labels(paths), biases, strict=True)))
        headline(figure, "BatchNorm biases by layer, the lowest layer first; negative ones blue and hatched")
    return figure


def _labels(paths: list[Path]) -> list[str]:
    """The names of the files without their endings; with numbers if they are not distinct."""
    stems = [path.stem for path in paths]
    return [stem if stems.count(stem) == 1 else f"{i}-{stem}" for i, stem in enumerate(stems, 1)]


MEASUREMENT = BatchNormBias
