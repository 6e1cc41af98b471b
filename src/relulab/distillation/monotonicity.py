"""The monotonicity index of a learner (T5 eq. 5.34)."""

from jaxtyping import Float
from torch import Tensor

from relulab.distillation.angles import angle
from relulab.lab.instrument import instrument


@instrument(source="T5 eq. 5.34", ids=("T5.F5",))
def monotonicity(
    before: Float[Tensor, "*lane sets d"], after: Float[Tensor, "*lane sets d"], w_star: Float[Tensor, " d"]
) -> Float[Tensor, "*lane"]:
    """The share m of transfer sets for which one more point brings a learner nearer to its teacher.

    m = P[ᾱ(w*, w([X, x])) < ᾱ(w*, w(X))] over the sets whose students are ``before`` and, with one point more,
    ``after``.

    >>> import torch
    >>> monotonicity(torch.tensor([[1.0, 1.0], [1.0, 0.5]]), torch.tensor([[1.0, 0.5], [1.0, 1.0]]), torch.eye(2)[0])
    tensor(0.5000)
    """
    return (angle(after, w_star) < angle(before, w_star)).to(before.dtype).mean(-1)
