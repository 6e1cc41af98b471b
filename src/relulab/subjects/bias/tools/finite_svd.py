"""Singular values of weights that may contain NaN after a training that diverged."""

import torch
from jaxtyping import Float
from torch import Tensor


def finite_svd(
    W: Float[Tensor, "*lane n k"],
) -> tuple[Float[Tensor, "*lane n r"], Float[Tensor, "*lane r"]]:
    """Return the left singular vectors and the singular values of every matrix; NaN for matrices that are not finite.

    PyTorch raises an error for such a matrix, and then the results of all other lanes would be lost.

    Args:
        W: Matrices, (…, n, k).

    >>> finite_svd(torch.tensor([[[3.0]], [[torch.nan]]]))[1].tolist()
    [[3.0], [nan]]
    """
    finite = W.isfinite().flatten(-2).all(-1)
    U, S, _ = torch.linalg.svd(W.where(finite[..., None, None], 0), full_matrices=False)
    return U.where(finite[..., None, None], torch.nan), S.where(finite[..., None], torch.nan)
