"""Reading a linear teacher with all supported names and shapes, and errors for invalid files."""

import numpy as np
import pytest
import torch
from safetensors.numpy import save_file

from relulab import UserError
from relulab.io.linear_teacher import linear_inputs, read_linear_teacher, with_ones

W = np.array([1.0, -2.0, 0.5])


def write(path, **arrays) -> str:
    np.savez(path / "t.npz", **arrays)
    return str(path / "t.npz")


@pytest.mark.parametrize("name", ["weight", "w", "coef_", "Coef", "w_star", "teacher", "anything", "fc.weight"])
@pytest.mark.parametrize("shape", [(3,), (1, 3), (3, 1)])
def test_weights_by_any_name_and_shape(tmp_path, name, shape):
    path = write(tmp_path, **{name: W.reshape(shape)})
    assert read_linear_teacher(path, 3).tolist() == W.tolist()


def test_a_bias_comes_last(tmp_path):
    for names in (("weight", "bias"), ("coef_", "intercept_"), ("w", "b")):
        w_read = read_linear_teacher(write(tmp_path, **dict(zip(names, (W[None], np.array([4.0])), strict=True))), 3)
        assert w_read.tolist() == [*W, 4.0]
    w_read = read_linear_teacher(write(tmp_path, w=np.append(W, 4.0)), 3)
    X = np.arange(6.0).reshape(2, 3)
    assert (with_ones(X, w_read) @ w_read).tolist() == (X @ W + 4).tolist() and with_ones(X, W) is X


def test_every_format(tmp_path):
    layer = torch.nn.Linear(3, 1).double()
    want = [*layer.weight.detach().flatten().tolist(), layer.bias.item()]
    torch.save(layer.state_dict(), tmp_path / "t.pt")
    save_file({k: v.numpy() for k, v in layer.state_dict().items()}, tmp_path / "t.safetensors")
    np.save(tmp_path / "t.npy", np.array(want))
    for name in ("t.pt", "t.safetensors", "t.npy"):
        assert read_linear_teacher(tmp_path / name, 3).tolist() == want


@pytest.mark.parametrize("arrays, says", [
    ({"w": np.ones((2, 3))}, "got weights of shape (2, 3) and 0 biases"),
    ({"w": W[:2]}, "expected 3 weights for points with 3 columns, or 4 including the bias, got 2: use"),
    ({"w": W, "b": np.ones(2)}, "expected one weight vector and at most one bias"),
    ({"w": W[:2], "b": np.ones(1)}, "or 4 including the bias, got 3 including the bias"),
    ({"w": np.ones(0)}, "got 0: use"),
    ({"p": W, "q": W}, "got p, q: rename its array"),
    ({"0.weight": np.ones((3, 3)), "2.weight": W[None]}, "contains 0.weight, 2.weight: keep one weight"),
    ({"w": np.array([1, np.nan, 2])}, "NaN or infinite in 1 of 3 entries"),
])  # fmt: skip
def test_what_is_refused(tmp_path, arrays, says):
    with pytest.raises(UserError) as refusal:
        read_linear_teacher(write(tmp_path, **arrays), 3)
    assert says in str(refusal.value) and "t.npz" in str(refusal.value) and "\n" not in str(refusal.value)


def test_how_many_inputs_a_teacher_may_have(tmp_path):
    np.save(tmp_path / "w.npy", np.ones(4))
    assert linear_inputs(tmp_path / "w.npy") == {4, 3}  # the last weight may be a bias
    np.savez(tmp_path / "w.npz", weight=np.ones((1, 4)), bias=[0.5])
    assert linear_inputs(tmp_path / "w.npz") == {4}
