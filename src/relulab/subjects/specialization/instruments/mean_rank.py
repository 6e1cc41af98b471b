"""Mean rank: were the students that are best after training already best before?"""

import torch
from jaxtyping import Float
from torch import Tensor

from relulab.core.errors import UserError
from relulab.lab.instrument import instrument


@instrument(source="LM section 5", ids=("LM.F8",))
def mean_rank(rho: Float[Tensor, "*lane m n"], rho_final: Float[Tensor, "*lane_ m_ n_"]) -> Float[Tensor, "*lane"]:
    r"""The mean over teacher nodes of the rank of the final best student, from 0 (first) to 1 (last).

    r̄ = mean_j #{j' : ρ_{jj'} > ρ_{j,w(j)}} / (n − 1), where w(j) = argmax_{j'} ρ^final_{jj'} is the best student after
    training, the first one in a tie (LM section 5). With a single student the rank is 0. Where a correlation is NaN, so
    is the result.

    Args:
        rho: Correlations of m teacher and n student nodes at some time, (…, m, n).
        rho_final: Correlations after training, of the same shape.

    >>> float(mean_rank(torch.tensor([[0.1, 0.3, 0.2]]), torch.tensor([[0.0, 0.2, 0.9]])))
    0.5
    """
    if rho.shape != rho_final.shape:
        raise UserError(
            f"expected correlations of the same shape, got {tuple(rho.shape)} and {tuple(rho_final.shape)}: use the "
            "same networks at both times"
        )
    winner = rho_final.argmax(-1, keepdim=True)
    ahead = (rho > rho.gather(-1, winner)).sum(-1).to(rho.dtype)
    ahead = ahead.where(~(rho + rho_final).isnan().any(-1), torch.nan)  # a diverged network has no rank
    return ahead.mean(-1) / max(rho.shape[-1] - 1, 1)
