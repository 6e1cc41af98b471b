"""A linear teacher from a file: under every name and shape it comes in, and one sentence for each mistake."""

import numpy as np
import pytest
import torch
from safetensors.numpy import save_file

from relulab import UserError
from relulab.io.linear_teacher import read_linear_teacher, with_ones

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
        found = read_linear_teacher(write(tmp_path, **dict(zip(names, (W[None], np.array([4.0])), strict=True))), 3)
        assert found.tolist() == [*W, 4.0]
    found = read_linear_teacher(write(tmp_path, w=np.append(W, 4.0)), 3)
    X = np.arange(6.0).reshape(2, 3)
    assert (with_ones(X, found) @ found).tolist() == (X @ W + 4).tolist() and with_ones(X, W) is X


def test_every_format(tmp_path):
    layer = torch.nn.Linear(3, 1).double()
    want = [*layer.weight.detach().flatten().tolist(), layer.bias.item()]
    torch.save(layer.state_dict(), tmp_path / "t.pt")
    save_file({k: v.numpy() for k, v in layer.state_dict().items()}, tmp_path / "t.safetensors")
    np.save(tmp_path / "t.npy", np.array(want))
    for name in ("t.pt", "t.safetensors", "t.npy"):
        assert read_linear_teacher(tmp_path / name, 3).tolist() == want


@pytest.mark.parametrize("arrays, says", [
    ({"w": np.ones((2, 3))}, "weights of shape (2, 3); one vector was expected"),
    ({"w": W[:2]}, "2 weights, for points with 3 columns: 3 were expected, or 4 with a bias"),
    ({"w": W, "b": np.ones(2)}, "one vector was expected"),
    ({"w": W[:2], "b": np.ones(1)}, "3 weights, the bias among them, for points with 3 columns"),
    ({"w": np.ones(0)}, "0 weights"),
    ({"p": W, "q": W}, "holds p, q: which is the teacher? Call it weight"),
    ({"0.weight": np.ones((3, 3)), "2.weight": W[None]}, "holds 0.weight, 2.weight: a teacher of one layer"),
    ({"w": np.array([1, np.nan, 2])}, "NaN or infinite"),
])  # fmt: skip
def test_what_is_refused(tmp_path, arrays, says):
    with pytest.raises(UserError) as refusal:
        read_linear_teacher(write(tmp_path, **arrays), 3)
    assert says in str(refusal.value) and "t.npz" in str(refusal.value) and "\n" not in str(refusal.value)
