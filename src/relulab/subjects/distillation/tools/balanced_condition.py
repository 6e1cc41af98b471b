"""The condition that the start of a deep linear student is balanced (T5 eq. 5.13)."""

import torch

from relulab.lab.show.words import number
from relulab.lab.theorem import Check
from relulab.subjects.distillation.tools.balanced_start import Factors, imbalance


def is_balanced(W: Factors) -> Check:
    """Check W_{l+1}ᵀ W_{l+1} = W_l W_lᵀ for all l, up to rounding.

    Args:
        W: Factor matrices W_1, …, W_L.

    >>> is_balanced([torch.tensor([[2.0], [0.0]]).double(), torch.tensor([[1.0, 0.0]]).double()]).holds
    False
    """
    rounding = 8 * max(max(matrix.shape) for matrix in W) * torch.finfo(torch.float64).eps
    gap = imbalance(W)
    return Check(
        "The start is balanced (eq. 5.13)", gap, "==", 0.0, rounding,
        detail=f"the two sides differ by {number(gap)} of the largest ‖W_l‖²; up to {number(rounding)} is rounding",
    )  # fmt: skip
