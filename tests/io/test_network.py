"""Loading and saving networks: a loaded network computes the same as the saved one."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.torch import load_file, save_file
from torch import nn

from relulab import MLP, UserError, load, save, torch_default

FORMATS = ("safetensors", "npz", "pt", "pth", "bin")


def module(*widths: int, bias: bool = True, dtype=torch.float32, seed: int = 0) -> nn.Sequential:
    return torch_default(widths, seeds=[seed], bias=bias, dtype=dtype).module()


def written(tensors: dict[str, torch.Tensor], path):
    """Write a file with the library of its format."""
    if path.suffix == ".safetensors":
        save_file({name: t.contiguous() for name, t in tensors.items()}, path)
    elif path.suffix == ".npz":
        np.savez(path, **{name: t.numpy() for name, t in tensors.items()})
    else:
        torch.save(tensors, path)
    return path


def same_outputs(net: nn.Module, other: nn.Module, inputs: int, dtype=torch.float32) -> None:
    x = torch.randn(9, inputs, generator=torch.Generator().manual_seed(1)).to(dtype)
    torch.testing.assert_close(net(x).squeeze(0), other(x), rtol=1e-5, atol=1e-6)


def test_the_comparison_rejects_another_network():
    with pytest.raises(AssertionError):
        same_outputs(module(3, 4, 2), module(3, 4, 2, seed=1), 3)


@pytest.mark.parametrize("ending", FORMATS)
@pytest.mark.parametrize("bias", [True, False])
def test_a_state_dict_computes_what_the_module_does(tmp_path, ending, bias):
    net = module(3, 7, 5, 2, bias=bias)
    loaded = load(written(net.state_dict(), tmp_path / f"net.{ending}"))
    assert isinstance(loaded, MLP) and loaded.widths == (3, 7, 5, 2) and loaded.bias is bias
    same_outputs(loaded, net, 3)


@settings(max_examples=40, deadline=None)
@given(
    widths=st.lists(st.integers(1, 6), min_size=2, max_size=14),
    bias=st.booleans(),
    dtype=st.sampled_from([torch.float32, torch.float64]),
    ending=st.sampled_from(FORMATS),
    seed=st.integers(0, 99),
)
def test_every_format_keeps_every_bit(tmp_path_factory, widths, bias, dtype, ending, seed):
    net = torch_default(widths, seeds=[seed], bias=bias, dtype=dtype)
    path = tmp_path_factory.mktemp("bits") / f"net.{ending}"
    loaded = load(written(net.module().state_dict(), path))
    assert loaded.widths == net.widths and loaded.dtype == dtype and loaded.bias is bias
    assert all(torch.equal(a, b) for a, b in zip(net.parameters(), loaded.parameters(), strict=True))


@settings(max_examples=30, deadline=None)
@given(
    widths=st.lists(st.integers(1, 6), min_size=2, max_size=14),
    lanes=st.integers(1, 3),
    bias=st.booleans(),
    slope=st.sampled_from([0.0, 0.01, 0.1, 1 / 3]),
    dtype=st.sampled_from([torch.float32, torch.float64]),
)
def test_saved_networks_are_loaded_bitwise_equal(tmp_path_factory, widths, lanes, bias, slope, dtype):
    net = torch_default(widths, seeds=range(lanes), bias=bias, slope=slope, dtype=dtype)
    path = save(net, tmp_path_factory.mktemp("saved") / "net.safetensors")
    loaded = load(path)
    assert (loaded.widths, loaded.lanes, loaded.bias, loaded.slope) == (net.widths, lanes, bias, slope)
    assert all(torch.equal(a, b) for a, b in zip(net.parameters(), loaded.parameters(), strict=True))
    assert [p.name for p in path.parent.iterdir()] == ["net.safetensors"]


@pytest.mark.parametrize("bias", [True, False])
def test_a_saved_file_is_a_state_dict_of_a_sequential(tmp_path, bias):
    net = torch_default((3, 5, 4, 2), seeds=[0], bias=bias)
    plain = module(3, 5, 4, 2, bias=bias, seed=8)
    plain.load_state_dict(load_file(save(net, tmp_path / "net.safetensors")))
    same_outputs(net, plain, 3)


def test_a_sequential_is_saved_with_its_slope(tmp_path):
    net = nn.Sequential(nn.Linear(3, 5), nn.LeakyReLU(0.2), nn.Linear(5, 2))
    path = save(net, tmp_path / "net.safetensors")
    same_outputs(load(path), net, 3)
    assert load(path, slope=0.0).slope == 0


@pytest.mark.parametrize("slope", ["steep", "nan", "1", "-0.5", "[0.1]"])
def test_an_invalid_slope_in_the_metadata_is_refused(tmp_path, slope):
    save_file(module(3, 4, 2).state_dict(), tmp_path / "a.safetensors", {"slope": slope})
    with pytest.raises(UserError, match=r"expected a slope from 0 .* in the metadata of .*a\.safetensors, got"):
        load(tmp_path / "a.safetensors")


def test_a_slope_given_by_hand_is_checked(tmp_path):
    path = save(module(3, 4, 2), tmp_path / "a.safetensors")
    with pytest.raises(UserError, match="slope"):
        load(path, slope=1.5)


@pytest.mark.parametrize("name", ["net.pt", "net", "there/net.safetensors"])
def test_files_that_cannot_be_written_are_named(tmp_path, name):
    with pytest.raises(UserError, match="net"):
        save(module(3, 4, 2), tmp_path / name)
    assert not list(tmp_path.rglob("*.part"))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_short_numbers_are_read_as_float32(tmp_path, dtype):
    net = module(3, 5, 2).to(dtype)
    loaded = load(written(net.state_dict(), tmp_path / "net.safetensors"))
    assert loaded.dtype == torch.float32
    same_outputs(loaded, net.float(), 3)


def test_layers_of_several_types_are_read_in_the_widest(tmp_path):
    state = module(3, 5, 4, 2).state_dict()
    state["2.weight"] = state["2.weight"].double() + 1e-12
    state["2.weight"][0, 0] = 1e300  # infinite in float32
    loaded = load(written(state, tmp_path / "net.pt"))
    assert loaded.dtype == torch.float64
    assert torch.equal(loaded.W[1].data[0].T, state["2.weight"])


def test_a_bias_in_some_layers_only(tmp_path):
    state = module(3, 5, 4, 2).state_dict()
    del state["2.bias"]
    loaded = load(written(state, tmp_path / "net.npz"))
    assert loaded.bias and not loaded.b[1].any() and loaded.b[0].any()


def test_a_loaded_network_does_not_change_with_its_file(tmp_path):
    path = written(module(3, 5, 2).state_dict(), tmp_path / "net.pt")
    loaded, before = load(path), path.read_bytes()
    kept = [p.clone() for p in loaded.parameters()]
    path.write_bytes(bytes(len(before)))
    assert all(torch.equal(a, b) for a, b in zip(kept, loaded.parameters(), strict=True))
