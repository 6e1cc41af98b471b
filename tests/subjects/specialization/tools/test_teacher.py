"""Teachers: filters on the grid, strengths 1/j^p, and biases that set the share of active inputs."""

import math

import numpy as np
import pytest
import torch

import relulab

SEEDS = [3, 0, 11]
MODES = ["released", "exact"]


def on_grid(values: torch.Tensor) -> bool:
    quarters = 4 * values.detach()
    return bool(torch.allclose(quarters, quarters.round(), atol=1e-9, rtol=0) and (quarters.abs() < 4.5).all())


def on_grid_up_to_scale(column: torch.Tensor) -> bool:
    """The largest entry of a grid vector is one of 1/4, 1/2, 3/4, 1: try all four scales."""
    return any(on_grid(column * (quarter / 4) / column.abs().max()) for quarter in (1, 2, 3, 4))


def cosines(W: torch.Tensor) -> torch.Tensor:
    """Between columns, without each with itself."""
    columns = W.detach() / W.detach().norm(dim=0)
    return (columns.T @ columns).fill_diagonal_(0)


def test_the_grid_helpers_can_fail():
    assert on_grid_up_to_scale(torch.tensor([0.3, -0.4, 0.0]))
    assert not on_grid_up_to_scale(torch.tensor([0.3, -0.41, 0.0]))
    assert not on_grid(torch.tensor([1.25]))


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("widths", [(20, 8, 3), (10, 6, 7, 2), (3, 12, 2)])
def test_hidden_filters_have_norm_one(widths, mode):
    t = relulab.specialization.teacher(widths, seeds=SEEDS, polarity=0.7, fan_out=mode)
    for W in t.W[:-1]:
        assert torch.allclose(W.norm(dim=1), torch.ones(len(SEEDS), W.shape[2], dtype=torch.float64), atol=1e-14)


@pytest.mark.parametrize("widths", [(20, 8, 3), (10, 6, 7, 2), (5, 30, 2)])
def test_no_two_filters_are_collinear(widths):
    t = relulab.specialization.teacher(widths, seeds=SEEDS, polarity=0.7)
    for W in t.W[:-1]:
        assert all(float(cosines(lane).abs().max()) < 1 - 1e-9 for lane in W)


@pytest.mark.parametrize("widths", [(2, 20, 2), (1, 1, 1)])
def test_no_two_filters_are_collinear_when_directions_are_scarce(widths):
    # The plane has 24 lines on the grid, the line 1: drawn blindly, some filters would coincide.
    t = relulab.specialization.teacher(widths, seeds=SEEDS)
    assert all(float(cosines(lane).abs().max()) < 1 - 1e-9 for lane in t.W[0])


@pytest.mark.parametrize("mode", MODES)
def test_first_filters_are_grid_points_before_they_are_scaled(mode):
    t = relulab.specialization.teacher((12, 8, 3), seeds=SEEDS, polarity=1.0, fan_out=mode)
    assert all(on_grid_up_to_scale(column) for lane in t.W[0] for column in lane.T)


def test_filters_use_the_whole_grid():
    t = relulab.specialization.teacher((200, 5, 2000), seeds=[0])
    values, counts = np.unique(t.W[1].detach().numpy(), return_counts=True)
    assert values.tolist() == [k / 4 for k in range(-4, 5)]
    assert counts.min() > 500


@pytest.mark.parametrize("p", [0.0, 0.5, 1.0, 2.0])
def test_released_rows_are_grid_rows_over_j_to_the_p(p):
    t = relulab.specialization.teacher((10, 7, 6), seeds=SEEDS, polarity=p)
    for lane in t.W[1]:
        for j in range(1, 8):
            assert on_grid(lane[j - 1] * j**p)


@pytest.mark.parametrize("p", [0.0, 0.5, 1.0, 2.0])
def test_exact_rows_have_norm_one_over_j_to_the_p(p):
    t = relulab.specialization.teacher((10, 7, 6), seeds=SEEDS, polarity=p, fan_out="exact")
    for lane in t.W[1].data:
        for j in range(1, 8):
            assert float(lane[j - 1].norm()) == pytest.approx(j**-p, abs=1e-14)


def test_exact_rows_of_a_single_output():
    # One entry in nine of the grid is zero: such a row has no norm to scale.
    t = relulab.specialization.teacher((10, 30, 1), seeds=SEEDS, polarity=1.0, fan_out="exact")
    expected = torch.tensor([[[1 / j] for j in range(1, 31)]] * len(SEEDS), dtype=torch.float64)
    torch.testing.assert_close(t.W[1].detach().abs(), expected, atol=1e-14, rtol=0)


def test_released_rows_of_a_hidden_layer_are_on_the_grid_up_to_the_filters_scale():
    t = relulab.specialization.teacher((10, 7, 6, 3), seeds=SEEDS, polarity=0.5)
    strength = torch.arange(1, 8, dtype=torch.float64) ** 0.5
    assert all(on_grid_up_to_scale(column * strength) for lane in t.W[1] for column in lane.T)


def test_each_lane_has_its_polarity():
    polarity = [0.0, 0.5, 2.0]
    together = relulab.specialization.teacher((10, 7, 3), seeds=SEEDS, polarity=polarity)
    for i, (seed, p) in enumerate(zip(SEEDS, polarity, strict=True)):
        alone = relulab.specialization.teacher((10, 7, 3), seeds=[seed], polarity=p)
        assert all(torch.equal(a[0], b[i]) for a, b in zip(alone.W, together.W, strict=True))


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("bias", [-0.1, "median"])
@pytest.mark.parametrize("widths", [(10, 7, 3), (10, 7, 6, 3)])
def test_a_seed_has_the_same_teacher_alone_and_among_others(widths, bias, mode):
    options = {"polarity": 0.3, "bias": bias, "fan_out": mode, "inputs": relulab.Gaussian(10, 1.5)}
    together = relulab.specialization.teacher(widths, seeds=SEEDS, **options)
    for i, seed in enumerate(SEEDS):
        alone = relulab.specialization.teacher(widths, seeds=[seed], **options)
        for single, several in zip([*alone.W, *alone.b], [*together.W, *together.b], strict=True):
            assert torch.equal(single[0], several[i])


def test_another_seed_or_root_is_another_teacher():
    t = relulab.specialization.teacher((10, 7, 3), seeds=[0, 1])
    other_root = relulab.specialization.teacher((10, 7, 3), seeds=[0, 1], root=1)
    assert not torch.equal(t.W[0][0], t.W[0][1])
    assert not torch.equal(t.W[0][0], other_root.W[0][0])


def test_number_bias_is_on_every_node():
    t = relulab.specialization.teacher((10, 7, 6, 3), seeds=SEEDS, bias=-0.1)
    assert all(bool((b == -0.1).all()) for b in t.b)


def fractions_active(t, inputs, n: int, lane: int) -> list[torch.Tensor]:
    """By hidden layer, on points that no stream of relulab has drawn."""
    x = torch.from_numpy(inputs.draw(np.random.default_rng(987654321 + lane), n))
    with torch.no_grad():
        return [(f > 0).double().mean(0) for f in (layer[0] for layer in t.lane(lane).layers(x)[:-1])]


@pytest.mark.parametrize("widths", [(10, 7, 3), (10, 7, 6, 3)])
@pytest.mark.parametrize("std", [1.0, 10.0])
def test_median_bias_makes_half_active(widths, std):
    inputs, n = relulab.Gaussian(10, std), 10_000
    t = relulab.specialization.teacher(widths, seeds=SEEDS, bias="median", inputs=inputs)
    # Both the 10,000 draws that set the bias and the fresh 10,000 have a standard error of ½/√n.
    standard_error = math.sqrt(0.25 / 10_000 + 0.25 / n)
    for lane in range(len(SEEDS)):
        for fraction in fractions_active(t, inputs, n, lane):
            assert float((fraction - 0.5).abs().max()) < 4 * standard_error


def test_median_bias_leaves_the_output_without_bias():
    t = relulab.specialization.teacher((10, 7, 3), seeds=SEEDS, bias="median", inputs=relulab.Gaussian(10))
    assert float(t.b[-1].data.abs().max()) == 0
    assert float(t.b[0].data.abs().max()) > 0


def test_median_bias_follows_inputs_that_are_not_centered():
    class Shifted(relulab.Gaussian):
        def draw(self, rng, n):
            return super().draw(rng, n) + 3

    inputs = Shifted(10)
    t = relulab.specialization.teacher((10, 7, 3), seeds=SEEDS, bias="median", inputs=inputs)
    for lane in range(len(SEEDS)):
        (fraction,) = fractions_active(t, inputs, 10_000, lane)
        assert float((fraction - 0.5).abs().max()) < 4 * math.sqrt(2 * 0.25 / 10_000)


def test_released_bias_makes_47_percent_active():
    inputs, n = relulab.Gaussian(100, 1.5), 10_000
    t = relulab.specialization.teacher((100, 20, 5), seeds=[0], bias=-0.1)
    (fraction,) = fractions_active(t, inputs, n, 0)
    # A filter of norm one takes N(0, 1.5²) in: P(z > 0.1) exactly.
    expected = 0.5 * math.erfc(0.1 / 1.5 / math.sqrt(2))
    assert float((fraction - expected).abs().max()) < 4 * math.sqrt(expected * (1 - expected) / n)
    assert round(100 * float(fraction.mean())) == 47


@pytest.mark.parametrize("widths", [(1, 5, 2), (1, 3, 2), (2, 49, 2), (4, 1, 3, 2)])
def test_more_filters_than_directions_are_an_error(widths):
    with pytest.raises(relulab.UserError):
        relulab.specialization.teacher(widths, seeds=[0])


def test_median_without_inputs_is_an_error():
    with pytest.raises(relulab.UserError, match="inputs"):
        relulab.specialization.teacher((10, 7, 3), seeds=[0], bias="median")
