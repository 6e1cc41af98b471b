"""SVCCA against eigenvalues of covariances, its invariances, and its level by chance."""

import numpy as np
import pytest
import torch

from relulab import UserError
from relulab.subjects.specialization import svcca


def drawn(N, n, seed):
    return torch.randn(N, n, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def layers(N=200, m=4, n=6, seed=0):
    """Two layers with something in common."""
    common = drawn(N, 3, seed)
    return tuple((common @ drawn(3, k, seed + i) + 0.5 * drawn(N, k, seed + 9 + i)).relu() for i, k in ((1, m), (2, n)))


def by_covariances(a: np.ndarray, b: np.ndarray, variance: float) -> np.ndarray:
    """Roots of the eigenvalues of C_aa⁻¹ C_ab C_bb⁻¹ C_ba, after projection on principal components."""
    parts = []
    for f in (a, b):
        f = f - f.mean(0)
        values, vectors = np.linalg.eigh(f.T @ f)
        values, vectors = values[::-1], vectors[:, ::-1]
        k = 1
        while values[:k].sum() < variance * values.sum():
            k += 1
        parts.append(f @ vectors[:, :k])
    p, q = parts
    product = np.linalg.inv(p.T @ p) @ (p.T @ q) @ np.linalg.inv(q.T @ q) @ (q.T @ p)
    return np.sort(np.sqrt(np.abs(np.linalg.eigvals(product).real)))[::-1][: min(p.shape[1], q.shape[1])]


@pytest.mark.parametrize("variance", [0.6, 0.9, 0.99, 1.0])
def test_equals_the_eigenproblem_of_covariances(variance):
    a, b = layers()
    found = svcca(a, b, variance)
    naive = by_covariances(a.numpy(), b.numpy(), min(variance, 1 - 1e-12))
    assert min(int(found.kept_a), int(found.kept_b)) == len(naive)
    assert found.rho[: len(naive)].numpy() == pytest.approx(naive, abs=1e-7)
    assert not found.rho[len(naive) :].any() and float(found.mean) == pytest.approx(naive.mean(), abs=1e-7)


def test_rotation_and_scale_change_nothing():
    a, b = layers()
    turn = torch.linalg.qr(drawn(6, 6, 5)).Q
    for scale in (1.0, 1e-100, 1e100):
        torch.testing.assert_close(svcca(a, scale * b @ turn + scale).rho, svcca(a, b).rho, rtol=0, atol=1e-10)


def test_any_invertible_map_changes_nothing_if_all_is_kept():
    a, b = layers()
    change = drawn(6, 6, 7)
    torch.testing.assert_close(svcca(a, b @ change, 1.0).rho, svcca(a, b, 1.0).rho, rtol=0, atol=1e-9)
    # with 99% of the variance, a map that blows up one direction leaves only that one
    blown = b @ torch.diag(torch.tensor([1e4, 1, 1, 1, 1, 1], dtype=b.dtype))
    assert int(svcca(a, blown).kept_b) == 1


def test_a_map_within_the_kept_directions_changes_nothing():
    a, b = layers()
    b = b - b.mean(0)
    U, S, V = torch.linalg.svd(b, full_matrices=False)
    k = int(svcca(a, b, 0.9).kept_b)
    assert 1 < k < 6
    mixed = torch.cat([U[:, :k] @ torch.linalg.qr(drawn(k, k, 3)).Q * S[:k], U[:, k:] * S[k:]], 1) @ V
    torch.testing.assert_close(svcca(a, mixed, 0.9).rho, svcca(a, b, 0.9).rho, rtol=0, atol=1e-9)


def test_independent_layers_have_the_level_of_chance():
    """For random subspaces of dimensions p ≤ q in R^(N−1), the mean of ρ² is q/(N − 1); with few points ρ is 1."""
    for N, p, q in ((40, 5, 10), (400, 5, 10)):
        squares = [float(svcca(drawn(N, p, s), drawn(N, q, 1000 + s), 1.0).rho.square().mean()) for s in range(60)]
        error = np.std(squares, ddof=1) / np.sqrt(len(squares))
        assert abs(np.mean(squares) - q / (N - 1)) < 4 * error
    assert svcca(drawn(12, 8, 0), drawn(12, 8, 1), 1.0).rho[:5].tolist() == pytest.approx([1] * 5)


def test_constant_layers_and_wrong_arguments():
    a, b = layers()
    found = svcca(a, torch.ones_like(b))
    assert not found.rho.any() and int(found.kept_b) == 0 and float(found.mean) == 0
    with pytest.raises(UserError, match="same samples"):
        svcca(a, b[:-1])
    with pytest.raises(UserError, match="above 0"):
        svcca(a, b, 0.0)
