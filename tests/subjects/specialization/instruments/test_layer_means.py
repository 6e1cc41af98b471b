"""Means of L, D, β and H against sums over single points, on all ways that the library computes them."""

import subprocess
import sys

import numpy as np
import pytest
import torch
from torch import nn

import relulab as rl
from relulab import UserError
from relulab.subjects.specialization import layer_means
from relulab.subjects.specialization.tools import streamed_means

WIDTHS = {1: (4, 3), 2: (4, 5, 3), 3: (4, 7, 8, 3), 4: (4, 7, 5, 6, 3), 5: (4, 7, 8, 6, 7, 3)}


def pair(depth: int, slope: float = 0.0, outputs: int = 3, lanes: int = 2) -> tuple[rl.MLP, rl.MLP]:
    student = (*WIDTHS[depth][:-1], outputs)
    teacher = (4, *(n - 2 for n in student[1:-1]), outputs)
    nets = (rl.torch_default(w, range(k, k + lanes), slope=slope, dtype=torch.float64)
            for k, w in ((7, teacher), (0, student)))  # fmt: skip
    return tuple(nets)


def inputs(n: int = 6, *lanes: int) -> torch.Tensor:
    return torch.from_numpy(np.random.default_rng(1).standard_normal((*lanes, n, 4)))


def jacobians(net: nn.Sequential, x: torch.Tensor) -> list[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """For every hidden layer at one point: activations, gates, and derivatives of the outputs."""
    found, z = [], x
    for i, part in enumerate(net):
        if isinstance(part, nn.ReLU | nn.LeakyReLU):
            gate = torch.autograd.functional.jacobian(part, z.detach()).diagonal()
            V = torch.autograd.functional.jacobian(net[i + 1 :], part(z).detach())
            found.append((part(z).detach().numpy(), gate.numpy(), V.numpy()))
        z = part(z)
    return found


def naive(student: nn.Module, other: nn.Module, x: torch.Tensor, l: int) -> list[np.ndarray]:
    """L, D, E[β] and H of a layer as sums over points and pairs of nodes."""
    at = [(jacobians(student, p)[l], jacobians(other, p)[l]) for p in x]
    n, m = len(at[0][0][0]), len(at[0][1][0])
    L, D, beta = np.zeros((3, n, m))
    for (f, d, V), (f_star, d_star, V_star) in at:
        for j in range(n):
            for i in range(m):
                L[j, i] += f[j] * f_star[i] / len(x)
                D[j, i] += d[j] * d_star[i] / len(x)
                beta[j, i] += sum(V[:, j] * V_star[:, i]) / len(x)
    return [L, D, beta, beta * D]


@pytest.mark.parametrize("small", [0, 10**9], ids=["point by point", "in blocks"])
@pytest.mark.parametrize(
    ("depth", "slope", "outputs"), [(2, 0.0, 3), (3, 0.1, 3), (4, 0.0, 20), (5, 0.0, 3), (5, 0.1, 3)]
)
def test_means_are_sums_over_points_and_nodes(depth, slope, outputs, small, monkeypatch):
    monkeypatch.setattr(streamed_means, "SMALL", small)
    monkeypatch.setattr(streamed_means, "ENTRIES", 30)  # several blocks
    teacher, student = pair(depth, slope, outputs)
    x = inputs()
    found = layer_means(student, x, teacher)
    assert list(found) == [str(l) for l in range(1, depth)]
    for l, one in enumerate(found.values()):
        for lane in range(2):
            net, star = student.module(lane), teacher.module(lane)
            expected = naive(net, net, x, l) + naive(net, star, x, l)
            for got, wanted in zip(one, expected, strict=True):
                np.testing.assert_allclose(got[lane].numpy(), wanted, rtol=1e-10, atol=1e-13)


def test_without_a_teacher_there_are_no_starred_means():
    _, student = pair(4)
    alone, both = layer_means(student, inputs()), layer_means(student, inputs(), pair(4)[0])
    for layer, one in alone.items():
        assert one.H_star.shape == (2, student.widths[int(layer)], 0)
        assert all(torch.equal(a, b) for a, b in zip(one[:4], both[layer][:4], strict=True))


def test_modules_have_the_names_of_their_relus_and_no_lane_axis():
    teacher, student = pair(3)
    found = layer_means(student.module(1), inputs(), teacher.module(1))
    assert list(found) == ["1", "3"]
    for got, wanted in zip(found["3"], layer_means(student, inputs(), teacher)["2"], strict=True):
        torch.testing.assert_close(got, wanted[1])


def test_batch_norm_is_folded_in():
    torch.manual_seed(0)
    net = nn.Sequential(
        nn.Linear(4, 6), nn.BatchNorm1d(6), nn.ReLU(), nn.Linear(6, 5), nn.ReLU(), nn.Linear(5, 3)
    ).double()
    net(inputs(50))
    net.eval()
    found, x = layer_means(net, inputs()), inputs()
    f = net[:3](x)
    torch.testing.assert_close(found["2"].L, f.T @ f / len(x))


def test_one_teacher_serves_all_lanes_and_lanes_may_have_their_own_points():
    teacher, student = pair(4)
    x = inputs(9, 2)
    one = layer_means(student, x, teacher.lane(0))
    for lane in range(2):
        alone = layer_means(student.lane(lane), x[lane], teacher.lane(0))
        for layer in one:
            for got, wanted in zip(one[layer], alone[layer], strict=True):
                torch.testing.assert_close(got[lane], wanted[0])


def test_sums_are_in_float64_whatever_the_networks_are():
    _, student = pair(4)
    x = inputs(300) + 1000  # in float32, products of these would lose digits
    exact = layer_means(student.float().double(), x.float().double())["1"].L
    torch.testing.assert_close(layer_means(student.float(), x.float())["1"].L, exact.float(), rtol=2e-7, atol=0)


def test_bad_networks_and_points_are_named():
    teacher, student = pair(3)
    with pytest.raises(UserError, match="same inputs, outputs and number of layers, got 4-5-6-3 and 4-5-3"):
        layer_means(rl.torch_default((4, 5, 3), [0]), inputs(), teacher)
    with pytest.raises(UserError, match="2 teachers for 3 students"):
        layer_means(rl.torch_default((4, 7, 8, 3), range(3)), inputs(), teacher)
    with pytest.raises(UserError, match="at least one point"):
        layer_means(student, inputs(0))
    with pytest.raises(UserError, match="expected points of shape"):
        layer_means(student, torch.zeros(3, 5))


def test_blocks_are_small_whatever_the_number_of_points():
    """What is kept of the points does not depend on how many there are."""
    net = streamed_means.Network.of(rl.torch_default((20, 500, 750, 1000, 1250, 100), [0]), 0)
    blocks = streamed_means.blocks_of(torch.empty(10_000, 20), net)
    kept = 2 * 8 * max(map(len, blocks)) * sum(W.shape[0] for W in net.W)  # activations and gates of all layers
    assert sum(map(len, blocks)) == 10_000 and kept < 200e6


PEAK = """
import resource, torch
torch.set_num_threads(1)
import relulab as rl
net = rl.torch_default((20, 500, 750, 1000, 1250, 100), [0], dtype=torch.float64)
x = 10 * torch.randn(1700, 20, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
measure = rl.specialization.layer_means
measure(net, x[:1])
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
from relulab.subjects.specialization.tools import streamed_means
products = streamed_means._active
streamed_means._active = lambda net, V, D: products(net, V, D) if D[1].sum() % 100 == 0 else empty(net, V, D)
def empty(net, V, D):  # most points without the products, which keep nothing
    return {l: (torch.empty(0, dtype=torch.long), V[:, :0]) for l in range(net.depth - 2, 1, -1)}
measure(net, x)
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="ru_maxrss has other units elsewhere")
def test_a_wide_student_takes_less_than_a_gigabyte():
    ended = subprocess.run([sys.executable, "-c", PEAK], capture_output=True, text=True, check=True)
    assert float(ended.stdout) < 1000
