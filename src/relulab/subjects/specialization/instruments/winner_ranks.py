"""Ranks of the winners: were the students that are best after training already best before?"""

import torch
from jaxtyping import Float
from torch import Tensor

from relulab.core.errors import UserError
from relulab.lab.instrument import instrument


@instrument(source="LM section 5", ids=("LM.F8",))
def winner_ranks(rho: Float[Tensor, "*lane m n"], rho_final: Float[Tensor, "*lane_ m_ n_"]) -> Float[Tensor, "*lane m"]:
    r"""For every teacher node, the rank that its final best student has, from 0 (first) to 1 (last).

    r_j = #{j' : ρ_{jj'} > ρ_{j,w(j)}} / (n − 1), where w(j) = argmax_{j'} ρ^final_{jj'} is the best student after
    training, the first one in a tie (LM section 5). With a single student the rank is 0. Where a correlation is NaN, so
    is the result.

    Args:
        rho: Correlations of m teacher and n student nodes at some time, (…, m, n).
        rho_final: Correlations after training, of the same shape.

    >>> winner_ranks(torch.tensor([[0.1, 0.3, 0.2]]), torch.tensor([[0.0, 0.2, 0.9]])).tolist()
    [0.5]
    """
    if rho.shape != rho_final.shape:
        raise UserError(
            f"expected correlations of the same shape, got {tuple(rho.shape)} and {tuple(rho_final.shape)}: use the "
            "same networks at both times"
        )
    winner = rho_final.argmax(-1, keepdim=True)
    ahead = (rho > rho.gather(-1, winner)).sum(-1).to(rho.dtype)
    ahead = ahead.where(~(rho + rho_final).isnan().any(-1), torch.nan)  # a diverged network has no rank
    return ahead / max(rho.shape[-1] - 1, 1)


@instrument(source="LM section 5", ids=("LM.F8",))
def mean_rank(rho: Float[Tensor, "*lane m n"], rho_final: Float[Tensor, "*lane_ m_ n_"]) -> Float[Tensor, "*lane"]:
    r"""The mean rank r̄ of the final best students over the teacher nodes, from 0 (first) to 1 (last).

    Args:
        rho: Correlations of m teacher and n student nodes at some time, (…, m, n).
        rho_final: Correlations after training, of the same shape.

    >>> float(mean_rank(torch.tensor([[0.1, 0.3, 0.2]]), torch.tensor([[0.0, 0.2, 0.9]])))
    0.5
    """
    return winner_ranks(rho, rho_final).mean(-1)


@instrument(source="LM figures 21–23", ids=("LM.F8",))
def median_rank(rho: Float[Tensor, "*lane m n"], rho_final: Float[Tensor, "*lane_ m_ n_"]) -> Float[Tensor, "*lane"]:
    r"""The median rank of the final best students over the teacher nodes, from 0 (first) to 1 (last).

    With an even number of teacher nodes, it is the mean of the middle two.

    Args:
        rho: Correlations of m teacher and n student nodes at some time, (…, m, n).
        rho_final: Correlations after training, of the same shape.

    >>> float(median_rank(torch.tensor([[0.1, 0.3, 0.2]]), torch.tensor([[0.0, 0.2, 0.9]])))
    0.5
    """
    ranks = winner_ranks(rho, rho_final).sort(-1).values
    m = ranks.shape[-1]
    middle = (ranks[..., (m - 1) // 2] + ranks[..., m // 2]) / 2
    return middle.where(~ranks.isnan().any(-1), torch.nan)
