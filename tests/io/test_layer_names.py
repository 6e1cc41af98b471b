"""Finding layers by the usual names, and errors for all other names."""

import numpy as np
import pytest
import torch
from safetensors.torch import save_file
from torch import nn

from relulab import UserError, load, torch_default
from relulab.io.layer_names import layers_of

WIDTHS = (4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4)  # twelve square layers: only the order of names can tell them apart


def network(*widths: int) -> nn.Sequential:
    return torch_default(widths, seeds=[0]).module()


def linears(net: nn.Sequential) -> list[nn.Linear]:
    return [m for m in net if isinstance(m, nn.Linear)]


def named(net: nn.Sequential, weight: str, bias: str = "", first: int = 0, flip: bool = False) -> dict:
    """Return the network's tensors under other names, sorted alphabetically, so that 10 comes before 2."""
    tensors_by_name = {}
    for i, linear in enumerate(linears(net), first):
        tensors_by_name[weight.format(i)] = (linear.weight.data.T if flip else linear.weight.data).contiguous()
        if bias:
            tensors_by_name[bias.format(i)] = linear.bias.data
        else:
            linear.bias.data.zero_()
    return dict(sorted(tensors_by_name.items()))


def same(tensors: dict, net: nn.Sequential, path) -> None:
    save_file(tensors, path / "net.safetensors")
    torch.save(tensors, path / "net.pt")
    x = torch.randn(9, linears(net)[0].in_features)
    for loaded in (load(path / "net.safetensors"), load(path / "net.pt")):
        torch.testing.assert_close(loaded(x)[0], net(x), rtol=1e-5, atol=1e-6)


PYTORCH = [
    ("{}.weight", "{}.bias", 0),
    ("layers.{}.weight", "layers.{}.bias", 0),
    ("fc{}.weight", "fc{}.bias", 1),
    ("fc_{}.weight", "fc_{}.bias", 1),
    ("module.layers.{}.weight", "module.layers.{}.bias", 0),
    ("module.{}.weight", "module.{}.bias", 0),
    ("_orig_mod.model.{}.weight", "_orig_mod.model.{}.bias", 0),
    ("linear{}.weight", "", 8),
    ("{}.weight", "", 0),
]
TRANSPOSED = [
    ("W{}", "b{}", 1),
    ("w{}", "b{}", 0),
    ("W_{}", "b_{}", 1),
    ("dense_{}.kernel", "dense_{}.bias", 0),
    ("layers.{}.kernel", "layers.{}.bias", 0),
    ("W{}", "", 1),
]


@pytest.mark.parametrize("weight, bias, first", PYTORCH)
@pytest.mark.parametrize("widths", [WIDTHS, (3, 6, 5, 2), (3, 2), (4, 4)])
def test_weights_out_by_in(tmp_path, weight, bias, first, widths):
    net = network(*widths)
    same(named(net, weight, bias, first), net, tmp_path)


@pytest.mark.parametrize("weight, bias, first", TRANSPOSED)
@pytest.mark.parametrize("widths", [WIDTHS, (3, 6, 5, 2), (3, 2), (4, 4)])
def test_weights_in_by_out(tmp_path, weight, bias, first, widths):
    net = network(*widths)
    same(named(net, weight, bias, first, flip=True), net, tmp_path)


def test_alphabetical_order_of_ten_layers_would_give_another_network(tmp_path):
    net = network(*WIDTHS)
    wrong = nn.Sequential(*(m for l in sorted(range(12), key=str) for m in (linears(net)[l], nn.ReLU())))[:-1]
    with pytest.raises(AssertionError):
        same(named(net, "{}.weight", "{}.bias"), wrong, tmp_path)


@pytest.mark.parametrize("widths", [WIDTHS, (3, 6, 5, 2)])
def test_arrays_without_names(tmp_path, widths):
    net = network(*widths)
    both = [a for m in linears(net) for a in (m.weight.data.numpy().T, m.bias.data.numpy())]
    np.savez(tmp_path / "net.npz", *both)
    x = torch.randn(9, widths[0])
    torch.testing.assert_close(load(tmp_path / "net.npz")(x)[0], net(x), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    "names", [("hidden", "output"), ("output", "hidden"), ("first", "head"), ("encoder", "classifier")]
)
def test_layers_without_numbers_in_the_order_that_fits(tmp_path, names):
    net = network(3, 6, 2)
    tensors = {}
    for name, linear in zip(names, linears(net), strict=True):
        tensors |= {f"{name}.weight": linear.weight.data, f"{name}.bias": linear.bias.data}
    same(dict(sorted(tensors.items())), net, tmp_path)


def test_square_layers_without_numbers_are_ordered_by_first_and_last_names(tmp_path):
    net = network(4, 4, 4, 4)
    tensors = {f"{n}.weight": m.weight.data for n, m in zip(("input", "hidden", "output"), linears(net), strict=True)}
    for linear in linears(net):
        linear.bias.data.zero_()
    same(dict(sorted(tensors.items())), net, tmp_path)


@pytest.mark.parametrize("key", ["state_dict", "model_state_dict", "model"])
def test_checkpoints_are_opened(tmp_path, key):
    net = network(3, 5, 2)
    torch.save({key: net.state_dict(), "epoch": 3, "best": 0.5, "optimizer": {"lr": [0.1]}}, tmp_path / "net.pth")
    x = torch.randn(9, 3)
    torch.testing.assert_close(load(tmp_path / "net.pth")(x)[0], net(x), rtol=1e-5, atol=1e-6)


def shaped(**shapes: tuple[int, ...]) -> dict[str, torch.Tensor]:
    return {name.replace("__", "."): torch.ones(shape) for name, shape in shapes.items()}


REFUSED = {
    "shapes that do not follow": (
        shaped(a0__weight=(5, 3), a1__weight=(2, 4)),
        r"consecutive layers .*a0\.weight \(5, 3\)",
    ),
    "a bias of another size": (shaped(a0__weight=(5, 3), a0__bias=(4,)), "consecutive layers"),
    "a bias alone": (shaped(a0__weight=(5, 3), a1__bias=(5,)), "'a1' has a bias without a weight"),
    "two weights of one layer": (shaped(fc1__weight=(3, 3), fc1_weight=(3, 3)), "two weights or biases"),
    "the same layer twice, once under module": (
        shaped(module__a__weight=(3, 3), a__weight=(3, 3)),
        "expected one network, got two",
    ),
    "no entries": (shaped(a0__weight=(0, 3)), "consecutive layers"),
    "convolutions": (shaped(conv1__weight=(4, 1, 3, 3), fc__weight=(2, 4)), r"conv1\.weight .*torch\.export"),
    "half a batch norm": (
        shaped(a0__weight=(5, 3), a1__running_mean=(5,)),
        "a1 has a running mean or variance but not",
    ),
    "the scales of a batch norm": (shaped(a0__weight=(5, 3), a1__weight=(5,)), r"a1\.weight .*torch\.export"),
    "a transformer": (
        shaped(h0__attn__weight=(4, 4), h0__mlp__weight=(4, 4), h1__attn__weight=(4, 4), h1__mlp__weight=(4, 4)),
        r"several kinds .*torch\.export",
    ),
    "two stacks": (shaped(enc0__weight=(4, 4), dec0__weight=(4, 4)), "several kinds"),
    "a scalar": (shaped(a0__weight=(5, 3), step=()), r"got step of shape \(\)"),
}


@pytest.mark.parametrize("tensors, says", REFUSED.values(), ids=REFUSED)
def test_other_networks_are_refused(tmp_path, tensors, says):
    save_file(tensors, tmp_path / "net.safetensors")
    with pytest.raises(UserError, match=says) as refusal:
        load(tmp_path / "net.safetensors")
    assert "net.safetensors" in str(refusal.value) and "\n" not in str(refusal.value)


def test_numbers_of_any_length_give_an_order():
    long = "9" * 6000
    layers = layers_of({f"1{long}.weight": torch.ones(2, 5), f"{long}.weight": torch.ones(5, 3)}, "net")
    assert [tuple(W.shape) for W, _ in layers] == [(5, 3), (2, 5)]
    assert len(layers_of({f"arr_{long}": torch.ones(5, 3)}, "net")) == 1


class Named(nn.Module):
    """Square layers whose names do not determine their order."""

    def __init__(self, *names: str):
        super().__init__()
        for name in names:
            self.add_module(name, nn.Linear(4, 4))

    def forward(self, x):
        *hidden, last = self.children()
        for layer in hidden:
            x = layer(x).relu()
        return last(x)


@pytest.mark.parametrize("names", [("stem", "body", "tail"), ("encoder", "decoder"), ("zeta", "alpha", "out")])
def test_ambiguous_names_use_the_order_of_the_file_or_are_refused(tmp_path, names):
    net, x = Named(*names), torch.randn(9, 4)
    torch.save(net.state_dict(), tmp_path / "net.pt")
    torch.testing.assert_close(load(tmp_path / "net.pt")(x)[0], net(x))
    save_file(net.state_dict(), tmp_path / "net.safetensors")
    with pytest.raises(UserError, match=r"the order of the layers .* is ambiguous"):
        load(tmp_path / "net.safetensors")


def test_a_checkpoint_with_two_networks_is_refused(tmp_path):
    net = network(3, 5, 2).state_dict()
    torch.save({"model": net, "ema": net, "epoch": 1}, tmp_path / "net.pt")
    with pytest.raises(UserError, match=r"expected one state dict in .*, got 2 \(model, ema\): save one of them"):
        load(tmp_path / "net.pt")
