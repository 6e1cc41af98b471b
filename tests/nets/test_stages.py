"""Stages of networks and networks with fewer nodes, compared with networks pruned by hand and by zeros."""

import pytest
import torch
from deep_networks import NETWORKS, Odd, made
from torch import nn

from relulab import UserError, multiply_adds, torch_default
from relulab.nets.batch_norm_mlp import BatchNormMLP
from relulab.nets.narrowing import check_narrowing, narrowed, removed
from relulab.nets.stages import structure
from relulab.nets.tracing import traced, values


def halves(of) -> dict[str, torch.Tensor]:
    return {stage.name: torch.arange(1, stage.nodes, 2) for stage in of.stages}


def test_the_stages_of_a_residual_network():
    net, x = made("residual")
    of = structure(net, x)
    stream, inner, second, last = of.stages
    assert (stream.makers, stream.nodes, stream.carriers) == (("stem", "a.conv2"), 4, (("a.bn2", 1),))
    assert [(reader.layer, reader.shift) for reader in stream.readers] == [
        ("a.conv1", "a.bn1"), ("b.conv1", "b.bn1"), ("b.down", "b.down"),
    ]  # fmt: skip
    assert inner.makers == ("a.conv1",) and second.makers == ("b.conv1",)
    assert last.makers == ("b.conv2", "b.down") and last.readers[0].layer == "fc" and not of.whole


def test_blocks_of_columns_after_flattening_and_convolutions_of_each_channel_alone():
    net, x = made("convolutional")
    first, second, third = structure(net, x).stages
    assert first.carriers == (("1", 1), ("4", 1)) and second.carriers == (("7", 1),)
    assert [reader.block for stage in (first, second, third) for reader in stage.readers] == [1, 9, 1]


@pytest.mark.parametrize("name", NETWORKS)
def test_a_narrow_network_is_the_whole_one_with_zeros(name):
    """The naive way: the whole network with the values of the other nodes set to 0 wherever layers read them."""
    net, x = made(name)
    of = structure(net, x)
    kept = halves(of)
    before = {key: value.clone() for key, value in net.state_dict().items()}
    small = narrowed(of, kept)
    changes = {}
    for stage in of.stages:
        alone = removed(stage.nodes, kept[stage.name]).mix.sum(1)
        for reader in stage.readers:
            mask = alone.repeat_interleave(reader.block)
            changes[reader.value] = lambda v, mask=mask: v * mask.reshape(-1, *[1] * (v.dim() - 2))
    with torch.no_grad():
        expected, _ = values(of.graph, x, [], changes)
        torch.testing.assert_close(small(x), expected, rtol=1e-10, atol=1e-10)
        assert not torch.allclose(expected, net(x), rtol=1e-3)
    for module in small.modules():  # the layers say what they are
        if isinstance(module, nn.Linear | nn.Conv2d):
            inputs = module.in_features if isinstance(module, nn.Linear) else module.in_channels // module.groups
            outs = module.out_features if isinstance(module, nn.Linear) else module.out_channels
            assert module.weight.shape[:2] == (outs, inputs)
    assert type(small) is type(net) and all(torch.equal(net.state_dict()[key], t) for key, t in before.items())
    check_narrowing(of, x)


def test_a_network_pruned_by_hand():
    net, x = made("connected")
    of = structure(net, x)
    small = narrowed(of, {"0": torch.tensor([6, 1]), "3": torch.tensor([0, 2, 5])})
    parts = [nn.Linear(5, 2), nn.ReLU(), nn.BatchNorm1d(2), nn.Linear(2, 3, bias=False), nn.BatchNorm1d(3), nn.ReLU()]
    hand = nn.Sequential(*parts, nn.Linear(3, 3)).double().eval()
    state = net.state_dict()
    rows, columns = [6, 1], [0, 2, 5]
    for key in state:
        layer, kind = key.split(".")
        value = state[key]
        if kind != "num_batches_tracked" and layer in "02":
            value = value[rows]
        elif kind != "num_batches_tracked" and layer in "34":
            value = value[columns][:, rows] if kind == "weight" and layer == "3" else value[columns]
        elif key == "6.weight":
            value = value[:, columns]
        hand.state_dict()[key].copy_(value)
    torch.testing.assert_close(small(x), hand(x))
    assert [(m.in_features, m.out_features) for m in small if isinstance(m, nn.Linear)] == [(5, 2), (2, 3), (3, 3)]


@pytest.mark.parametrize("name", NETWORKS)
def test_multiply_adds_are_counted_and_predicted(name):
    net, x = made(name)
    of = structure(net, x)
    kept = halves(of)
    small = narrowed(of, kept)
    shape = x.shape[1:]
    assert of.multiply_adds() == multiply_adds(net, shape)
    assert of.multiply_adds({stage: len(nodes) for stage, nodes in kept.items()}) == multiply_adds(small, shape)


def test_multiply_adds_by_hand_and_of_functions():
    class Functional(nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.up = nn.Linear(4, 6), nn.ConvTranspose2d(1, 3, 2, stride=2)

        def forward(self, x):
            h = self.a(x) @ torch.ones(6, 9)
            return torch.einsum("ni,nj->n", h, self.up(h.reshape(-1, 1, 3, 3)).flatten(1))

    counts = multiply_adds(Functional(), (4,))
    assert counts["a"] == 4 * 6 and counts["up"] == 9 * 3 * 4 and counts[""] >= 6 * 9
    assert multiply_adds(nn.Conv2d(2, 6, 3, stride=2, padding=1, groups=2), (2, 7, 5)) == {"": 4 * 3 * 6 * 9}
    assert multiply_adds(torch_default((3, 5, 2), seeds=[0, 1]), (3,)) == {"0": 15, "2": 10}
    assert multiply_adds(nn.ReLU(), (3,)) == {}
    with pytest.raises(UserError, match="shape of one point"):
        multiply_adds(nn.Linear(3, 2), (0,))


def test_layers_that_cannot_be_pruned_are_named_with_the_reason():
    torch.manual_seed(0)
    of = structure(Odd(), torch.randn(4, 4))
    assert [stage.name for stage in of.stages] == ["free"]
    assert of.whole == {
        "first": "enters cat", "second": "enters twice, which is used more than once",
        "twice": "is used more than once", "last": "enters view with a fixed size; flatten(1) has none",
    }  # fmt: skip
    small = narrowed(of, {"free": torch.tensor([1, 4])})
    assert (small.free.out_features, small.top.in_features, small.last.out_features) == (2, 2, 7)


class Depends(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(3, 2)

    def forward(self, x):
        return self.a(x) if x.sum() > 0 else x[:, :2]


class Wide(nn.Module):
    """Divides by the width of a layer, which its layers do not tell."""

    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(3, 4), nn.Linear(4, 2)

    def forward(self, x):
        return self.b(self.a(x).relu()) / self.a.out_features


def hooked() -> nn.Module:
    net = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2))
    net[0].register_forward_hook(lambda module, inputs, output: output * 2)
    return net


@pytest.mark.parametrize("make, says", [
    (lambda: nn.Sequential(nn.Linear(3, 2)), "no layer of the Sequential can be pruned"),
    (lambda: nn.Sequential(nn.Linear(3, 4), nn.LayerNorm(4), nn.Linear(4, 2)), "0 enters 1 .LayerNorm"),
    (Depends, "can be traced"),
    (hooked, "0 has hooks or computed weights"),
    (lambda: torch_default((3, 4, 2), seeds=[0, 1]), "2 lanes"),
    (lambda: nn.Bilinear(3, 3, 2), "can be traced|one input"),
])  # fmt: skip
def test_networks_without_a_structure_are_refused(make, says):
    with pytest.raises(UserError, match=says):
        structure(make(), torch.randn(4, 3))


def test_a_structure_that_does_not_tell_all_is_found_out():
    of = structure(Wide(), torch.randn(4, 3))
    with pytest.raises(UserError, match="more than its layers tell"):
        check_narrowing(of, torch.randn(4, 3))


def test_networks_with_lanes_and_batch_norm_are_read():
    x = torch.randn(5, 3)
    for net in (torch_default((3, 4, 2), seeds=[0]), BatchNormMLP((3, 4, 2))):
        of = structure(net, x)
        assert [(stage.name, stage.nodes) for stage in of.stages] == [("0", 4)]


def test_kept_values_survive_operations_in_place():
    class InPlace(nn.Module):
        def forward(self, x):
            y = x * 2
            y += 1
            return y

    graph = traced(InPlace())
    y, found = values(graph, torch.ones(2))
    assert y.tolist() == [3, 3] and found["mul"].tolist() == [2, 2]
