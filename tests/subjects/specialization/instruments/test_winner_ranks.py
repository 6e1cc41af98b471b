"""Mean rank of the final winners against its definition, one teacher node at a time."""

import statistics

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import relulab


def naive_ranks(rho: np.ndarray, rho_final: np.ndarray) -> list[float]:
    m, n = rho.shape
    ranks = []
    for j in range(m):
        winner = max(range(n), key=lambda k, j=j: rho_final[j, k])
        better = sum(1 for k in range(n) if rho[j, k] > rho[j, winner])
        ranks.append(better / (n - 1) if n > 1 else 0.0)
    return ranks


def naive_mean_rank(rho: np.ndarray, rho_final: np.ndarray) -> float:
    return sum(naive_ranks(rho, rho_final)) / len(rho)


def distinct(rng: np.random.Generator, *shape: int) -> np.ndarray:
    """Values without ties: the definition does not say which of two equal students has won."""
    return rng.permutation(np.linspace(-1, 1, int(np.prod(shape)))).reshape(shape)


@settings(deadline=None, max_examples=100)
@given(st.integers(1, 6), st.integers(1, 8), st.booleans(), st.integers(0, 2**32 - 1))
def test_mean_rank_equals_loop(m, n, ties, seed):
    rng = np.random.default_rng(seed)
    rho = rng.integers(-2, 3, (m, n)) / 2 if ties else distinct(rng, m, n)
    rho_final = distinct(rng, m, n)
    got = relulab.specialization.mean_rank(torch.from_numpy(rho), torch.from_numpy(rho_final))
    assert float(got) == pytest.approx(naive_mean_rank(rho, rho_final), abs=1e-14)
    ranks, middle = (
        f(torch.from_numpy(rho), torch.from_numpy(rho_final))
        for f in (relulab.specialization.winner_ranks, relulab.specialization.median_rank)
    )
    assert ranks.tolist() == pytest.approx(naive_ranks(rho, rho_final), abs=1e-14)
    assert float(middle) == pytest.approx(statistics.median(naive_ranks(rho, rho_final)), abs=1e-14)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_lanes_equal_loop_over_lanes(dtype):
    rng = np.random.default_rng(0)
    rho, rho_final = distinct(rng, 5, 4, 7), distinct(rng, 5, 4, 7)
    got = relulab.specialization.mean_rank(torch.from_numpy(rho).to(dtype), torch.from_numpy(rho_final).to(dtype))
    assert got.shape == (5,)
    assert got.dtype == dtype
    assert got.tolist() == pytest.approx([naive_mean_rank(a, b) for a, b in zip(rho, rho_final, strict=True)], abs=1e-6)


def test_two_lane_axes_as_for_a_trajectory():
    rng = np.random.default_rng(1)
    rho, rho_final = distinct(rng, 3, 2, 4, 5), distinct(rng, 3, 2, 4, 5)
    got = relulab.specialization.mean_rank(torch.from_numpy(rho), torch.from_numpy(rho_final))
    for i in range(3):
        for k in range(2):
            assert float(got[i, k]) == pytest.approx(naive_mean_rank(rho[i, k], rho_final[i, k]), abs=1e-14)


def test_at_the_end_every_winner_is_first():
    rho = torch.from_numpy(distinct(np.random.default_rng(2), 3, 6, 9))
    assert relulab.specialization.mean_rank(rho, rho).tolist() == [0, 0, 0]


def test_winners_that_were_last_have_rank_one():
    rho = torch.from_numpy(distinct(np.random.default_rng(3), 6, 9))
    assert float(relulab.specialization.mean_rank(-rho, rho)) == 1


def test_single_student_is_first():
    assert float(relulab.specialization.mean_rank(torch.tensor([[0.2], [0.4]]), torch.tensor([[0.9], [0.1]]))) == 0
