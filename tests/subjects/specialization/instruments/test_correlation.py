"""Correlations of units against double loops in NumPy."""

import math

import numpy as np
import pytest
import torch
from torch import nn

import relulab

SHAPES = [(2, 1, 1), (3, 2, 5), (17, 4, 3), (200, 6, 7)]
TOLERANCE = {torch.float32: 2e-6, torch.float64: 1e-13}


def unit_correlation(a: np.ndarray, b: np.ndarray) -> float:
    a, b = a - a.mean(), b - b.mean()
    size = math.sqrt((a**2).sum()) * math.sqrt((b**2).sum())
    return float((a * b).sum() / size) if size else 0.0


def naive_correlation(f_star: torch.Tensor, f: torch.Tensor) -> torch.Tensor:
    """Samples in rows, units in columns; in float64 whatever comes in."""
    f_star, f = f_star.double().numpy(), f.double().numpy()
    rho = np.zeros((f_star.shape[1], f.shape[1]))
    for j in range(f_star.shape[1]):
        for k in range(f.shape[1]):
            rho[j, k] = unit_correlation(f_star[:, j], f[:, k])
    return torch.from_numpy(rho)


def random_activations(*shape: int, seed: int, dtype: torch.dtype = torch.float64) -> torch.Tensor:
    values = np.maximum(np.random.default_rng(seed).normal(size=shape) + 0.3, 0)
    return torch.from_numpy(values).to(dtype)


def assert_close(got: torch.Tensor, expected: torch.Tensor, atol: float) -> None:
    torch.testing.assert_close(got.double(), expected.double(), atol=atol, rtol=0)


@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize(("N", "m", "n"), SHAPES)
def test_correlation_equals_double_loop(N, m, n, dtype):
    f_star, f = random_activations(N, m, seed=N, dtype=dtype), random_activations(N, n, seed=N + 1, dtype=dtype)
    rho = relulab.specialization.correlation(f_star, f)
    assert rho.shape == (m, n)
    assert rho.dtype == dtype
    assert_close(rho, naive_correlation(f_star, f), TOLERANCE[dtype])


@pytest.mark.parametrize("dtype", TOLERANCE)
def test_lanes_equal_loop_over_lanes(dtype):
    f_star, f = random_activations(4, 30, 3, seed=0, dtype=dtype), random_activations(4, 30, 5, seed=1, dtype=dtype)
    rho = relulab.specialization.correlation(f_star, f)
    assert rho.shape == (4, 3, 5)
    assert rho.dtype == dtype
    for i in range(4):
        assert_close(rho[i], naive_correlation(f_star[i], f[i]), TOLERANCE[dtype])


def test_more_than_one_lane_axis():
    f_star, f = random_activations(2, 3, 20, 2, seed=0), random_activations(2, 3, 20, 4, seed=1)
    rho = relulab.specialization.correlation(f_star, f)
    for i in range(2):
        for k in range(3):
            assert_close(rho[i, k], naive_correlation(f_star[i, k], f[i, k]), 1e-13)


@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("N", [3, 7, 1000])
@pytest.mark.parametrize("value", [0.0, 1.0, 0.1, 1 / 3, 123.456])
def test_constant_unit_has_correlation_zero(value, N, dtype):
    # 0.1 and 1/3 are not exact: their mean over the samples may miss them by a rounding error, which is no signal.
    f_star, f = random_activations(N, 3, seed=2, dtype=dtype), random_activations(N, 4, seed=3, dtype=dtype)
    f_star[:, 1] = value
    f[:, 2] = value
    rho = relulab.specialization.correlation(f_star, f)
    expected = naive_correlation(f_star, f)
    expected[1, :] = 0
    expected[:, 2] = 0
    assert rho[1].tolist() == [0] * 4
    assert rho[:, 2].tolist() == [0] * 3
    assert_close(rho, expected, TOLERANCE[dtype])


@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("scale", [2.0**-30, 2.0**20])
def test_rescaling_a_unit_changes_nothing(scale, dtype):
    f_star, f = random_activations(50, 3, seed=4, dtype=dtype), random_activations(50, 4, seed=5, dtype=dtype)
    expected = relulab.specialization.correlation(f_star, f)
    f[:, 1] *= scale
    f_star[:, 2] *= scale
    assert_close(relulab.specialization.correlation(f_star, f), expected, TOLERANCE[dtype])


def test_small_variation_around_a_large_mean_is_a_signal():
    f_star, f = random_activations(100, 2, seed=6), 1 + 1e-4 * random_activations(100, 2, seed=6)
    assert_close(relulab.specialization.correlation(f_star, f).diagonal(), torch.ones(2), 1e-10)


def test_inputs_are_left_as_they_were():
    f_star, f = random_activations(10, 2, seed=7), random_activations(10, 3, seed=8)
    before = f_star.clone(), f.clone()
    relulab.specialization.correlation(f_star, f)
    assert torch.equal(f_star, before[0])
    assert torch.equal(f, before[1])


def test_different_sample_counts_are_an_error():
    with pytest.raises(relulab.UserError):
        relulab.specialization.correlation(torch.rand(3, 2), torch.rand(4, 2))


def test_one_sample_is_an_error():
    with pytest.raises(relulab.UserError):
        relulab.specialization.correlation(torch.rand(1, 2), torch.rand(1, 2))


def random_rho(*shape: int, seed: int) -> torch.Tensor:
    return torch.from_numpy(np.random.default_rng(seed).uniform(-1, 1, shape))


@pytest.mark.parametrize(("lanes", "m", "n"), [(1, 1, 1), (3, 4, 6), (2, 5, 2)])
def test_best_match_equals_loop(lanes, m, n):
    rho = random_rho(lanes, m, n, seed=m)
    values, index = relulab.specialization.best_match(rho)
    for i in range(lanes):
        for j in range(m):
            best = 0
            for k in range(n):
                if rho[i, j, k] > rho[i, j, best]:
                    best = k
            assert index[i, j] == best
            assert values[i, j] == rho[i, j, best]


@pytest.mark.parametrize(("lanes", "m", "n"), [(1, 1, 1), (3, 4, 6), (2, 5, 2)])
def test_rho_mean_equals_loop(lanes, m, n):
    rho = random_rho(lanes, m, n, seed=n)
    expected = [sum(max(row.tolist()) for row in rho[i]) / m for i in range(lanes)]
    assert relulab.specialization.rho_mean(rho).tolist() == pytest.approx(expected, abs=1e-15)


@pytest.mark.parametrize("threshold", [0.95, 0.5, -0.2])
def test_recovered_equals_loop(threshold):
    rho = random_rho(3, 8, 5, seed=0)
    rho[0, 0, 0] = 0.99
    expected = [[any(v > threshold for v in row.tolist()) for row in lane] for lane in rho]
    assert relulab.specialization.recovered(rho, threshold).tolist() == expected
    assert any(map(any, expected))
    assert not all(map(all, expected)) or threshold < 0


def test_recovered_at_the_threshold_is_not_above_it():
    assert relulab.specialization.recovered(torch.tensor([[0.5, 0.0], [0.5001, 0.0]]), 0.5).tolist() == [False, True]


def test_recovered_has_threshold_95_percent_by_itself():
    assert relulab.specialization.recovered(torch.tensor([[0.94], [0.96]])).tolist() == [False, True]


def test_the_three_summaries_take_a_single_pair():
    rho = random_rho(3, 4, seed=1)
    assert relulab.specialization.best_match(rho)[0].tolist() == [max(row.tolist()) for row in rho]
    assert relulab.specialization.rho_mean(rho).shape == ()
    assert relulab.specialization.recovered(rho).shape == (3,)


class Named(nn.Module):
    """ReLU modules with names, applied in an order that is not the order of definition."""

    def __init__(self, width: int):
        super().__init__()
        self.late, self.early = nn.ReLU(), nn.ReLU()
        self.a, self.b, self.c = nn.Linear(4, width), nn.Linear(width, width + 1), nn.Linear(width + 1, 2)

    def parts(self, x):
        f1 = torch.clamp(self.a(x), min=0)
        f2 = torch.clamp(self.b(f1), min=0)
        return f1, f2

    def forward(self, x):
        return self.c(self.late(self.b(self.early(self.a(x)))))


def sequential(width: int, relu=nn.ReLU) -> nn.Sequential:
    return nn.Sequential(nn.Linear(4, width), relu(), nn.Linear(width, width + 1), relu(), nn.Linear(width + 1, 2))


@pytest.fixture(autouse=True)
def seeded():
    torch.manual_seed(0)


@torch.no_grad()
def clamped(module: nn.Sequential, x: torch.Tensor) -> list[torch.Tensor]:
    """Activations of Linear-ReLU-Linear-ReLU-Linear by hand."""
    f1 = torch.clamp(x @ module[0].weight.T + module[0].bias, min=0)
    return [f1, torch.clamp(f1 @ module[2].weight.T + module[2].bias, min=0)]


def test_layer_correlations_of_sequentials():
    teacher, student, x = sequential(3), sequential(6), torch.randn(40, 4)
    rho = relulab.specialization.layer_correlations(teacher, student, x)
    assert list(rho) == ["1", "3"]
    for got, f_star, f in zip(rho.values(), clamped(teacher, x), clamped(student, x), strict=True):
        assert_close(got, naive_correlation(f_star, f), 1e-5)


def test_layer_correlations_of_relus_that_work_in_place():
    teacher, student, x = sequential(3), sequential(6, lambda: nn.ReLU(inplace=True)), torch.randn(40, 4)
    rho = relulab.specialization.layer_correlations(teacher, student, x)
    for got, f_star, f in zip(rho.values(), clamped(teacher, x), clamped(student, x), strict=True):
        assert_close(got, naive_correlation(f_star, f), 1e-5)


def test_layer_correlations_of_named_relus_in_call_order():
    teacher, student, x = sequential(3), Named(5), torch.randn(40, 4)
    rho = relulab.specialization.layer_correlations(teacher, student, x)
    assert list(rho) == ["early", "late"]
    with torch.no_grad():
        parts = student.parts(x)
    for got, f_star, f in zip(rho.values(), clamped(teacher, x), parts, strict=True):
        assert_close(got, naive_correlation(f_star, f), 1e-5)


def test_layer_correlations_of_a_user_module_with_lanes_of_one():
    net, x = relulab.torch_default((4, 5, 6, 2), [0]), torch.randn(30, 4)
    teacher = sequential(3)
    rho = relulab.specialization.layer_correlations(teacher, net.module(0), x)
    for got, f_star, f in zip(rho.values(), clamped(teacher, x), clamped(net.module(0), x), strict=True):
        assert_close(got, naive_correlation(f_star, f), 1e-5)


def test_layer_correlations_of_lanes():
    teacher = relulab.torch_default((4, 3, 4, 2), [0, 1], root=1, dtype=torch.float64)
    student = relulab.torch_default((4, 5, 6, 2), [0, 1], dtype=torch.float64)
    x = torch.randn(30, 4, dtype=torch.float64)
    rho = relulab.specialization.layer_correlations(teacher, student, x)
    assert list(rho) == ["1", "2"]
    for i in range(2):
        pairs = zip(rho.values(), clamped(teacher.module(i), x), clamped(student.module(i), x), strict=True)
        for got, f_star, f in pairs:
            assert_close(got[i], naive_correlation(f_star, f), 1e-12)


def convolution(channels: int) -> nn.Sequential:
    return nn.Sequential(nn.Conv2d(1, channels, 3), nn.ReLU(), nn.Flatten(), nn.Linear(channels * 9, 2))


@torch.no_grad()
def channel_samples(module: nn.Sequential, x: torch.Tensor) -> torch.Tensor:
    """Every pixel of every picture is a sample of its channel."""
    weight, bias = module[0].weight, module[0].bias
    rows = []
    for picture in x[:, 0]:
        for r in range(3):
            for c in range(3):
                patch = picture[r : r + 3, c : c + 3]
                rows.append([max(float((w[0] * patch).sum() + b), 0) for w, b in zip(weight, bias, strict=True)])
    return torch.tensor(rows, dtype=torch.float64)


def test_layer_correlations_of_channels():
    teacher, student, x = convolution(2), convolution(4), torch.randn(5, 1, 5, 5)
    rho = relulab.specialization.layer_correlations(teacher, student, x)
    assert list(rho) == ["1"]
    assert_close(rho["1"], naive_correlation(channel_samples(teacher, x), channel_samples(student, x)), 1e-5)


def test_hooks_are_gone_afterward():
    teacher, student = sequential(3), sequential(4)
    relulab.specialization.layer_correlations(teacher, student, torch.randn(5, 4))
    assert not any(m._forward_hooks for net in (teacher, student) for m in net.modules())


def test_different_depths_are_an_error():
    shallow = nn.Sequential(nn.Linear(4, 3), nn.ReLU(), nn.Linear(3, 2))
    with pytest.raises(relulab.UserError):
        relulab.specialization.layer_correlations(shallow, sequential(3), torch.randn(5, 4))


class Functional(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(4, 3), nn.Linear(3, 2)

    def forward(self, x):
        return self.b(torch.relu(self.a(x)))


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_relu_as_a_function_is_an_error_that_says_what_to_write(order):
    pair = [Functional(), nn.Sequential(nn.Linear(4, 3), nn.ReLU(), nn.Linear(3, 2))]
    with pytest.raises(relulab.UserError, match=r"nn\.ReLU"):
        relulab.specialization.layer_correlations(pair[order[0]], pair[order[1]], torch.randn(5, 4))


def test_a_module_is_compared_with_every_lane_of_an_mlp():
    module = nn.Sequential(nn.Linear(4, 5), nn.ReLU(), nn.Linear(5, 2))
    other = nn.Sequential(nn.Linear(4, 5), nn.ReLU(), nn.Linear(5, 2))
    x = torch.randn(50, 4, generator=torch.Generator().manual_seed(0))
    (rho,) = relulab.specialization.layer_correlations(module, relulab.MLP.of(module, other), x).values()
    assert rho.shape == (2, 5, 5)
    for lane, b in enumerate((module, other)):
        (alone,) = relulab.specialization.layer_correlations(module, b, x).values()
        torch.testing.assert_close(rho[lane], alone)
    with pytest.raises(relulab.UserError, match="2 teachers and 3 students"):
        relulab.specialization.layer_correlations(
            relulab.MLP.of(module, other), relulab.MLP.of(module, other, other), x
        )


def diverged_lane() -> tuple[relulab.MLP, relulab.MLP, torch.Tensor]:
    """A teacher and a student of two lanes each; one weight of the second student is NaN."""
    star, student = (relulab.torch_default((4, n, 2), seeds=[0, 1], dtype=torch.float64) for n in (3, 5))
    student.W[0].data[1, 0, 2] = math.nan
    return star, student, random_activations(30, 4, seed=0)


def test_correlations_of_a_network_that_diverged_are_nan():
    star, student, x = diverged_lane()
    (rho,) = relulab.specialization.layer_correlations(star, student, x).values()
    assert rho[0].isfinite().all() and rho[1, :, 2].isnan().all() and rho[1, :, :2].isfinite().all()
    best, _ = relulab.specialization.best_match(rho)
    assert best[0].isfinite().all() and best[1].isnan().all()
    assert relulab.specialization.rho_mean(rho).isnan().tolist() == [False, True]


def test_a_network_that_diverged_is_never_silently_not_recovered():
    star, student, x = diverged_lane()
    (rho,) = relulab.specialization.layer_correlations(star, student, x).values()
    with pytest.warns(relulab.Diverged, match="1 of 2 networks"):
        found = relulab.specialization.recovered(rho, 0.1)
    assert found[1].tolist() == [False] * 3 and (found[0] == relulab.specialization.recovered(rho[0], 0.1)).all()
    with pytest.warns(relulab.Diverged, match="correlations are NaN"):
        relulab.specialization.recovered(rho[1])
    for instrument in (relulab.specialization.recovered_at, relulab.specialization.focus):
        with pytest.warns(relulab.Diverged):
            instrument(rho)
