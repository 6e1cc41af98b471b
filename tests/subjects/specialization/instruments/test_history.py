"""Histories of training: compared with loops over snapshots, on plain modules, and from the command line."""

import json

import numpy as np
import pytest
import torch
from torch import nn
from typer.testing import CliRunner

import relulab as rl
from relulab.lab.cli import build


def correlations(t: int = 6, m: int = 3, n: int = 5, seed: int = 0) -> torch.Tensor:
    return torch.rand(t, m, n, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


@pytest.mark.parametrize("seed", range(5))
def test_by_loops(seed):
    rho = correlations(seed=seed)
    t, m, n = rho.shape
    for j in range(m):
        snapshots = [i for i in range(t) if max(float(rho[i, j, k]) for k in range(n)) > 0.9]
        assert int(rl.specialization.recovered_at(rho, 0.9)[j]) == (snapshots[0] if snapshots else -1)
    for k in range(n):
        followed, shifts = None, 0
        for i in range(t):
            best = max(range(m), key=lambda j: float(rho[i, j, k]))
            node = best if float(rho[i, best, k]) > 0.7 else None
            assert int(rl.specialization.focus(rho, 0.7)[i, k]) == (-1 if node is None else node)
            if node is not None:
                shifts += followed is not None and node != followed
                followed = node
        assert int(rl.specialization.focus_shifts(rho, 0.7)[k]) == shifts


def test_history_of_the_checkpoints_of_a_plain_module():
    teacher = nn.Sequential(nn.Linear(4, 3), nn.ReLU(), nn.Linear(3, 2))
    other = nn.Sequential(nn.Linear(4, 3), nn.ReLU(), nn.Linear(3, 2))
    x = torch.randn(200, 4, generator=torch.Generator().manual_seed(0))
    (layer,) = rl.specialization.history(teacher, [other, teacher], x)
    assert layer.rho.shape == (2, 3, 3)
    torch.testing.assert_close(layer.strength, teacher[2].weight.data.norm(dim=0).double())
    rows = layer.rows(0.999)
    assert [row["node"] for row in rows] == layer.strength.argsort(descending=True).tolist()
    assert all(row["recovered_at"] == 1 and row["student"] == row["node"] for row in rows)


def test_a_node_that_is_lost_again_does_not_count_as_recovered(tmp_path):
    """Node 0 is recovered at the first checkpoint and lost at the second, node 1 the other way around."""
    teacher = rl.torch_default((4, 2, 2), seeds=[0])
    one, two = (rl.torch_default((4, 2, 2), seeds=[5]) for _ in range(2))
    for net, node in ((one, 0), (two, 1)):
        net.W[0].data[..., node], net.b[0].data[..., node] = teacher.W[0].data[..., node], teacher.b[0].data[..., node]
    x = torch.randn(300, 4, generator=torch.Generator().manual_seed(0))
    (layer,) = rl.specialization.history(teacher, [one, two], x)
    rows = {row["node"]: row for row in layer.rows(0.999)}
    assert (rows[0]["recovered_at"], rows[0]["lost_at"], rows[0]["recovered"]) == (0, 1, False)
    assert (rows[1]["recovered_at"], rows[1]["lost_at"], rows[1]["recovered"]) == (1, None, True)
    for name, net in (("teacher", teacher), ("epoch1", one), ("epoch2", two)):
        rl.save(net, tmp_path / f"{name}.safetensors")
    np.save(tmp_path / "x.npy", x.numpy())
    files = [str(tmp_path / f"{name}.safetensors") for name in ("teacher", "epoch1", "epoch2")]
    words = ["measure", "strength", *files, "--data", str(tmp_path / "x.npy"), "--threshold", "0.999"]
    text = " ".join(CliRunner().invoke(build(), words).output.split())
    assert "teacher nodes recovered 1 of 2 at the end" in text and "recovered, then lost again 1" in text


def test_units_that_no_linear_layer_reads_have_no_strength():
    teacher = nn.Sequential(nn.Linear(4, 3), nn.ReLU(), nn.LayerNorm(3), nn.Linear(3, 2))
    (layer,) = rl.specialization.history(teacher, [teacher], torch.randn(50, 4))
    assert layer.strength is None and [row["node"] for row in layer.rows()] == [0, 1, 2]


@pytest.mark.parametrize("students, sentence", [
    (lambda: [], "at least one"),
    (lambda: [rl.MLP((4, 3, 2)), rl.MLP((4, 5, 2))], "different shapes"),
    (lambda: [rl.MLP((4, 3, 2), lanes=2)], "several lanes"),
    (lambda: [rl.MLP((4, 3, 3, 2))], "layers"),
])  # fmt: skip
def test_errors(students, sentence):
    with pytest.raises(rl.UserError, match=sentence):
        rl.specialization.history(rl.torch_default((4, 3, 2), seeds=[0]), students(), torch.randn(20, 4))


def test_the_command_on_files(tmp_path):
    teacher, start = rl.torch_default((4, 3, 2), seeds=[0]), rl.torch_default((4, 6, 2), seeds=[1])
    end = rl.MLP((4, 6, 2))
    end.W[0].data[:], end.b[0].data[:] = teacher.W[0].data.repeat(1, 1, 2), teacher.b[0].data.repeat(1, 1, 2)
    for name, net in (("teacher", teacher), ("one", start), ("two", end)):
        rl.save(net, tmp_path / f"{name}.safetensors")
    np.save(tmp_path / "x.npy", np.random.default_rng(0).normal(size=(300, 4)))
    files = [str(tmp_path / f"{name}.safetensors") for name in ("teacher", "one", "two")]
    words = ["measure", "strength", *files, "--data", str(tmp_path / "x.npy"), "--threshold", "0.999"]
    answer = CliRunner().invoke(build(), [*words, "--json", "--figure", str(tmp_path / "h.svg")])
    document = json.loads(answer.output)
    (layer,) = document["layers"]
    assert {row["recovered_at"] for row in layer["nodes"]} == {1} and (tmp_path / "h.svg").read_text().count("<svg")
    assert all(row["followers"] == 2 and row["student"] in (row["node"], row["node"] + 3) for row in layer["nodes"])
    table = CliRunner().invoke(build(), words).output
    assert "teacher nodes recovered 3 of 3" in " ".join(table.split()) and " two " in table
