"""The graph of a Keras model from its configuration, which is JSON: which layer takes the results of which."""

import json
from collections.abc import Iterator
from typing import Any

from relulab.core.errors import UserError
from relulab.io.guard import one_line
from relulab.nets.batch_norm_layers import Step, kind_of

DAMAGE = (ValueError, KeyError, TypeError, AttributeError, RecursionError)
DEPTH = 8  # of lists around the names of the layers that a layer takes


def keras_graph(config: str, where: str) -> tuple[list[Step], dict[str, list[str]]]:
    """Return the operations of a Keras model, and the parts of every BatchNorm in the order of its weights.

    A layer with an activation is two operations. Without connections, as in a Sequential model, every layer takes the
    result of the one before it.

    Args:
        config: The configuration of the model as JSON, or a list of its layers.
        where: The name of the file, for messages.
    """
    try:
        document = json.loads(config)
        while isinstance(document, dict):
            document = document["config"] if "config" in document else document["layers"]
        return _graph(document)
    except DAMAGE as error:
        raise UserError(
            f"expected the configuration of a Keras model in {where}, as model.to_json() writes it, got other text "
            f"({one_line(error)}): save it again, or leave it out"
        ) from None


def _graph(layers: list[dict[str, Any]]) -> tuple[list[Step], dict[str, list[str]]]:
    names = [_name(layer) for layer in layers]
    ends = dict(zip(names, names, strict=True))  # the operation whose result a layer gives
    steps: list[Step] = []
    parts: dict[str, list[str]] = {}
    linked = any(layer.get("inbound_nodes") for layer in layers)
    for i, (name, layer) in enumerate(zip(names, layers, strict=True)):
        kind, settings = str(layer["class_name"]), layer["config"]
        inputs = (
            list(dict.fromkeys(_named(layer.get("inbound_nodes"), set(names)))) if linked else names[max(i - 1, 0) : i]
        )
        taken = tuple(ends[n] for n in inputs)
        if kind == "BatchNormalization":
            steps.append(Step(name, "norm", taken))
            own = {"weight": settings.get("scale", True), "bias": settings.get("center", True)}
            parts[name] = [*(part for part, there in own.items() if there), "mean", "variance"]
            continue
        activation = settings.get("activation")
        steps.append(Step(name, kind_of(str(activation) if kind == "Activation" else kind), taken))
        if kind != "Activation" and activation not in (None, "linear"):
            ends[name] = f"{name} activation"
            steps.append(Step(ends[name], kind_of(str(activation)), (name,)))
    return steps, parts


def _name(layer: dict[str, Any]) -> str:
    return str(layer.get("name") or layer["config"]["name"])


def _named(nodes: Any, names: set[str], depth: int = 0) -> Iterator[str]:
    """Yield the names of layers anywhere in the description of the inputs of a layer, which differs by version."""
    if isinstance(nodes, str) and nodes in names:
        yield nodes
    if depth < DEPTH and isinstance(nodes, list | dict):
        for inner in nodes.values() if isinstance(nodes, dict) else nodes:
            yield from _named(inner, names, depth + 1)
