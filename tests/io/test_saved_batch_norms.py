"""The BatchNorm layers of files: state dicts, Keras models, exported programs; and files that have none."""

import json
import warnings

import numpy as np
import pytest
import torch
from safetensors.torch import save_file
from torch import nn

from relulab import UserError
from relulab.io.saved_batch_norms import of_state_dict, saved_batch_norms


def norm(n: int = 3, negative: bool = True, **changes) -> dict[str, torch.Tensor]:
    mean = torch.arange(1.0, n + 1) * (-1 if negative else 1)
    parts = {"weight": torch.ones(n), "bias": torch.arange(n) - 1.0, "running_mean": mean, "running_var": torch.ones(n)}
    return {name: tensor for name, tensor in (parts | changes).items() if tensor is not None}


def named(**norms: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    return {f"{name.replace('__', '.')}.{part}": t for name, parts in norms.items() for part, t in parts.items()}


def found(tensors: dict[str, torch.Tensor], config: str | None = None) -> list[tuple[str, str]]:
    return [(layer.name, layer.place.value) for layer in of_state_dict(tensors, "a file", config).layers]


def test_vectors_are_found_by_structure_and_kept_in_the_order_of_the_file(tmp_path):
    tensors = {
        "fc.weight": torch.ones(3, 2),
        "fc.bias": torch.ones(3),
        "ln.weight": torch.ones(3),
        "ln.bias": torch.ones(3),
    }
    tensors |= named(zz=norm(), aa=norm(5, bias=None), bb=norm(4))
    for name in ("a.pt", "b.npz"):
        if name == "a.pt":
            torch.save(tensors, tmp_path / name)
        else:
            np.savez(tmp_path / name, **{key: t.numpy() for key, t in tensors.items()})
        layers, notes = saved_batch_norms(tmp_path / name)
        assert [layer.name for layer in layers] == ["zz", "bb"] and not notes
        assert layers[0].bias.tolist() == [-1, 0, 1] and layers[0].told_by == "negative running means"


def test_safetensors_do_not_keep_the_order(tmp_path):
    save_file(named(bn10=norm(), bn2=norm(), bn1=norm()), tmp_path / "a.safetensors")
    layers, notes = saved_batch_norms(tmp_path / "a.safetensors")
    assert [layer.name for layer in layers] == ["bn1", "bn2", "bn10"] and "order of their names" in notes[0]


def test_numbers_of_a_sequential_network_tell_the_place():
    weights = {"features.0.weight": torch.ones(4, 3, 3, 3), "features.3.weight": torch.ones(4, 4, 3, 3)}
    tensors = weights | {f"features.{i}.{part}": t for i in (1, 5) for part, t in norm(4, negative=False).items()}
    assert found(tensors) == [("features.1", "before a ReLU"), ("features.5", "after a ReLU")]
    tensors["features.5.running_mean"][0] = -1.0  # so its inputs are no outputs of a ReLU
    layers = of_state_dict(tensors, "a file").layers
    assert layers[1].told_by == ""  # by_statistics tells it later


def test_names_of_a_resnet_tell_the_ends_of_branches():
    names = ("bn1", "layer1__0__bn1", "layer1__0__bn2", "layer1__0__downsample__1", "layer1__1__bn1", "layer1__1__bn2")
    layers, notes = of_state_dict(named(**{name: norm() for name in names}), "a file")
    ends = [layer.name for layer in layers if layer.place == "before an addition"]
    assert ends == ["layer1.0.bn2", "layer1.0.downsample.1", "layer1.1.bn2"]
    assert notes == ["a file has the names of a ResNet, so an addition is assumed to follow layer1.0.bn2 and 2 more"]


def keras(kind: str, name: str, *inputs: str, **config) -> dict:
    return {"class_name": kind, "name": name, "config": config, "inbound_nodes": [[[i, 0, 0, {}] for i in inputs]]}


GRAPH = [
    keras("InputLayer", "x"), keras("Conv2D", "conv", "x", activation="linear"),
    keras("BatchNormalization", "b", "conv", scale=False), keras("Activation", "act", "b", activation="relu"),
    keras("Conv2D", "conv_1", "act", activation="relu"), keras("BatchNormalization", "a", "conv_1"),
    keras("Conv2D", "conv_2", "a"), keras("BatchNormalization", "c", "conv_2"), keras("Add", "sum", "c", "act"),
]  # fmt: skip


def keras_weights() -> dict[str, torch.Tensor]:
    """Vectors by number; b has no weights, so its biases come first."""
    vectors = {"b": (-2.0, 0.5, 1.0), "a": (1.0, -3.0, 0.5, 1.0), "c": (1.0, 4.0, 0.5, 1.0)}
    return {f"{name}/{i}": torch.full((3,), v) for name, parts in vectors.items() for i, v in enumerate(parts)}


@pytest.mark.parametrize("document", [GRAPH, {"class_name": "Functional", "config": {"layers": GRAPH}}])
def test_a_keras_model_with_its_configuration(tmp_path, document):
    weights = {name: t.numpy() for name, t in keras_weights().items()}
    np.savez(tmp_path / "a.npz", model_config=json.dumps(document), **weights)
    layers, _ = saved_batch_norms(tmp_path / "a.npz")
    assert [(layer.name, layer.place.value, float(layer.bias[0])) for layer in layers] == [
        ("b", "before a ReLU", -2.0), ("a", "after a ReLU", -3.0), ("c", "before an addition", 4.0),
    ]  # fmt: skip
    assert layers[0].weight is None and layers[1].told_by == "the configuration"


def test_a_sequential_keras_model_is_a_chain():
    layers = [{**layer, "inbound_nodes": []} for layer in GRAPH[:4]]
    assert found(keras_weights(), json.dumps(layers))[0] == ("b", "before a ReLU")


def test_keras_names_and_numbers_without_a_configuration():
    names = {"gamma": 1.0, "beta": -2.0, "moving_mean": 0.5, "moving_variance": 1.0}
    tensors = {f"norm/{part}:0": torch.full((3,), value) for part, value in names.items()}
    (layer,) = of_state_dict(tensors, "a file").layers
    assert layer.name == "norm" and layer.bias.tolist() == [-2.0] * 3
    assert [name for name, _ in found(keras_weights())] == ["a", "c"]  # b has three vectors, which could be anything


def test_an_exported_program(tmp_path):
    net = nn.Sequential(nn.Linear(2, 3), nn.ReLU(), nn.BatchNorm1d(3), nn.Linear(3, 4), nn.BatchNorm1d(4), nn.ReLU())
    nn.init.constant_(net[4].bias, -1.5)
    with warnings.catch_warnings(action="ignore"):
        program = torch.export.export(net.eval(), (torch.zeros(5, 2),))
        for name, one in (("a.pt2", program), ("b.pt2", program.run_decompositions())):
            torch.export.save(one, tmp_path / name)
            layers, notes = saved_batch_norms(tmp_path / name)
            places = [(layer.name, layer.place.value) for layer in layers]
            assert places == [("2", "after a ReLU"), ("4", "before a ReLU")] and not notes
            assert layers[1].bias.tolist() == [-1.5] * 4 and layers[1].mean is not None


@pytest.mark.parametrize(("tensors", "sentence"), [
    (named(bn=norm(running_var=None)), "bn has a running mean or variance but not both"),
    (named(bn=norm(bias=torch.ones(4))), "vectors of one length in bn, got weight 3, bias 4, mean 3, variance 3"),
    (named(bn=norm(running_var=-torch.ones(3))), "a running variance of at least 0 in bn"),
])  # fmt: skip
def test_damaged_vectors_are_refused(tensors, sentence):
    with pytest.raises(UserError, match=sentence):
        of_state_dict(tensors, "a file")


@pytest.mark.parametrize("config", ["{}", "[1]", '[{"class_name": 3}]', "not JSON", "[" * 100_000, '{"config": 3}'])
def test_other_configurations_are_refused(config):
    with pytest.raises(UserError, match="expected the configuration of a Keras model in a file"):
        of_state_dict(keras_weights(), "a file", config)


def test_a_file_without_batch_norm_has_no_layers(tmp_path):
    torch.save(nn.Linear(2, 3).state_dict(), tmp_path / "a.pt")
    assert saved_batch_norms(tmp_path / "a.pt").layers == []
    np.savez(tmp_path / "a.npz", notes="a text", more=np.array(["two", "texts"]), w=np.ones(3))
    assert saved_batch_norms(tmp_path / "a.npz").layers == []
