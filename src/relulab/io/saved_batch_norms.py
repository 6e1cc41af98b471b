"""The BatchNorm layers of saved networks of any kind: state dicts of PyTorch and Keras, and exported programs."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, TypeAlias

from torch import Tensor

from relulab.core.errors import UserError
from relulab.io.guard import one_line
from relulab.io.keras_config import keras_graph
from relulab.io.layer_names import natural_order
from relulab.io.tensors import read_tensors
from relulab.nets.batch_norm_layers import (
    FEWEST,
    BatchNormLayer,
    Place,
    Step,
    by_statistics,
    places,
)

PARTS = {
    "weight": "weight", "gamma": "weight", "bias": "bias", "beta": "bias", "running_mean": "mean",
    "moving_mean": "mean", "running_var": "variance", "moving_variance": "variance",
}  # fmt: skip
"""the vectors of a BatchNorm by their names in PyTorch and Keras"""
NUMBERED = ("weight", "bias", "mean", "variance")  # their order in Keras, where they may have numbers instead of names
BLOCK = re.compile(r"(?P<block>.*\blayer\d+\.\d+)\.(?P<kind>[a-z_]+)(?P<rest>[\d.]*)")
BRANCHES = ("downsample", "shortcut")
RESIDUAL = "names as in a ResNet"
Parts: TypeAlias = dict[str, Tensor]


class SavedNorms(NamedTuple):
    """The BatchNorm layers of a file in the order of the network, and notes on how they were read."""

    layers: list[BatchNormLayer]
    notes: list[str]


def saved_batch_norms(path: Path | str) -> SavedNorms:
    """Read the BatchNorm layers of a file. Nothing in it is executed or unpickled.

    Which vectors belong to a BatchNorm is known by structure: a running mean and a running variance with one prefix,
    and a bias of the same length. Where it stands is told by an exported program, by the configuration of a Keras
    model in an array "model_config" of an npz file, or by names, numbers and running means.

    Args:
        path: A state dict (.safetensors, .npz, .pt, .pth, .bin) or a program written by ``torch.export.save`` (.pt2).
    """
    path = Path(path)
    if path.suffix == ".pt2":
        from relulab.io.program_norms import program_norms

        found = SavedNorms(program_norms(path), [])
    else:
        tensors, texts = read_tensors(path, texts=True)
        if path.suffix == ".safetensors":  # which does not keep the order
            tensors = {name: tensors[name] for name in sorted(tensors, key=natural_order)}
        found = of_state_dict(tensors, str(path), texts.get("model_config"))
        if path.suffix == ".safetensors" and found.layers:
            found.notes.append(f"{path} does not store the order of its layers: they are in the order of their names")
    return SavedNorms(by_statistics(found.layers), found.notes)


def of_state_dict(tensors: Mapping[str, Tensor], where: str, config: str | None = None) -> SavedNorms:
    """Return the BatchNorm layers of a state dict.

    Args:
        tensors: Tensors by name, in the order of the network.
        where: The name of the file, for messages.
        config: Configuration of a Keras model as JSON, if there is one.
    """
    groups = _groups(tensors)
    steps: list[Step] = []
    if config is not None:
        steps, order = keras_graph(config, where)
        groups |= {name: _numbered(tensors, name, parts) for name, parts in order.items()}
    layers = [layer for name, parts in groups.items() if (layer := _layer(name, parts, where))]
    if config is not None:
        known, names = places(steps), [step.name for step in steps]
        layers.sort(key=lambda layer: names.index(layer.name) if layer.name in known else len(names))
        told = [l._replace(place=known[l.name], told_by="the configuration") if l.name in known else l for l in layers]
        return SavedNorms(told, [])
    told = [_told_by_names(layer, groups, tensors) for layer in layers]
    assumed = [layer.name for layer in told if layer.told_by == RESIDUAL]
    if not assumed:
        return SavedNorms(told, [])
    which = assumed[0] if len(assumed) == 1 else f"{assumed[0]} and {len(assumed) - 1:,} more"
    return SavedNorms(told, [f"{where} has the names of a ResNet, so an addition is assumed to follow {which}"])


def _groups(tensors: Mapping[str, Tensor]) -> dict[str, Parts]:
    """Return the vectors of every BatchNorm by prefix, then by part."""
    groups: dict[str, Parts] = {}
    for name, tensor in tensors.items():
        prefix, part = _split(name)
        if tensor.dim() == 1 and part in PARTS:
            groups.setdefault(prefix, {})[PARTS[part]] = tensor
        elif part == "0":  # Keras may number the vectors of a layer
            groups |= {prefix: parts} if (parts := _numbered(tensors, prefix, NUMBERED)) else {}
    return {prefix: parts for prefix, parts in groups.items() if "mean" in parts or "variance" in parts}


def _split(name: str) -> tuple[str, str]:
    """Split a name at its last point or slash; Keras ends names with ":0"."""
    prefix, _, part = name.removesuffix(":0").replace("/", ".").rpartition(".")
    return prefix, part


def _numbered(tensors: Mapping[str, Tensor], prefix: str, parts: Sequence[str]) -> Parts:
    """Return vectors named prefix/0, prefix/1, … as these parts; nothing if there are others."""
    plain = {".".join(_split(name)): tensor for name, tensor in tensors.items()}
    own = [plain.get(f"{prefix}.{i}") for i in range(len(parts) + 1)]
    vectors = [tensor for tensor in own[:-1] if tensor is not None and tensor.dim() == 1]
    fits = len(vectors) == len(parts) and own[-1] is None and len({len(vector) for vector in vectors}) == 1
    return dict(zip(parts, vectors, strict=True)) if fits else {}


def _layer(name: str, parts: Parts, where: str) -> BatchNormLayer | None:
    """Return a layer from its vectors; None if it has no biases."""
    shown = one_line(name)
    if "mean" not in parts or "variance" not in parts:
        if not parts:
            return None
        raise UserError(f"{where}: {shown} has a running mean or variance but not both: save the whole state dict")
    if "bias" not in parts:
        return None
    if len({len(vector) for vector in parts.values()}) > 1 or not len(parts["bias"]):
        sizes = ", ".join(f"{part} {len(vector):,}" for part, vector in parts.items())
        raise UserError(f"{where}: expected vectors of one length in {shown}, got {sizes}: save it again")
    if (parts["variance"] < 0).any():
        raise UserError(
            f"{where}: expected a running variance of at least 0 in {shown}, got a negative one: save it again"
        )
    return BatchNormLayer(name, parts["bias"], parts.get("weight"), parts["mean"])


def _told_by_names(layer: BatchNormLayer, groups: Mapping[str, Parts], tensors: Mapping[str, Tensor]) -> BatchNormLayer:
    """Tell the place of a BatchNorm by names: the end of a branch of a ResNet, or numbers in an nn.Sequential."""
    mean = layer.mean
    positive = mean is not None and len(mean) >= FEWEST and bool((mean > 0).all())
    if _ends_branch(layer.name, groups) and not positive:
        return layer._replace(place=Place.ADDITION, told_by=RESIDUAL)
    parent, _, number = layer.name.rpartition(".")
    if not number.isdecimal() or (mean is not None and (mean < 0).any()) or len(number) > 9:
        return layer
    linear = [
        k for k in (1, 2)
        if (w := tensors.get(f"{parent}.{int(number) - k}.weight".lstrip("."))) is not None and w.dim() > 1
    ]  # fmt: skip
    if not linear:
        return layer
    return layer._replace(place=Place.RELU if 1 in linear else Place.AFTER, told_by="the numbers of the modules")


def _ends_branch(name: str, groups: Mapping[str, Parts]) -> bool:
    """Whether a BatchNorm is the last one of a branch in a block of a ResNet: layer1.0.bn2, layer1.0.downsample.1."""
    found = BLOCK.fullmatch(name)
    if found is None:
        return False
    if found["kind"] in BRANCHES:
        return True
    others = [(m, other) for other in groups if (m := BLOCK.fullmatch(other)) is not None]
    same = [other for m, other in others if (m["block"], m["kind"]) == (found["block"], found["kind"])]
    return name == max(same, key=natural_order)
