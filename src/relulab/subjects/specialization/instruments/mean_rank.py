"""Mean rank: did the students that win in the end lead from the beginning?"""

import torch
from jaxtyping import Float
from torch import Tensor

from relulab.core.errors import UserError
from relulab.lab.instrument import instrument


@instrument(source="LM section 5", ids=("LM.F8",))
def mean_rank(rho: Float[Tensor, "*lane m n"], rho_final: Float[Tensor, "*lane_ m_ n_"]) -> Float[Tensor, "*lane"]:
    r"""Mean over teacher nodes of the rank that the final winner had, 0 (first) to 1 (last).

    r̄ = mean_j #{j' : ρ_{jj'} > ρ_{j,w(j)}} / (n − 1), with w(j) = argmax_{j'} ρ^final_{jj'} the best student after
    training, the first of equals (LM section 5). A single student is always first.

    Args:
        rho: Correlations at some time, (…, m, n), of m teacher and n student nodes.
        rho_final: Those after training, of the same shape.

    >>> float(mean_rank(torch.tensor([[0.1, 0.3, 0.2]]), torch.tensor([[0.0, 0.2, 0.9]])))
    0.5
    """
    if rho.shape != rho_final.shape:
        raise UserError(f"correlations of shapes {tuple(rho.shape)} and {tuple(rho_final.shape)}: they must agree")
    winner = rho_final.argmax(-1, keepdim=True)
    ahead = (rho > rho.gather(-1, winner)).sum(-1).to(rho.dtype)
    ahead = ahead.where(~(rho + rho_final).isnan().any(-1), torch.nan)  # of a network that diverged nothing is known
    return ahead.mean(-1) / max(rho.shape[-1] - 1, 1)
