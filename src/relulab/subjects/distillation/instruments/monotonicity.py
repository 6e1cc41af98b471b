"""The monotonicity index of a learner (T5 eq. 5.34)."""

import torch
from jaxtyping import Float
from torch import Tensor

from relulab.core.errors import UserError
from relulab.core.numbers import Numbers, tensors
from relulab.lab.instrument import instrument
from relulab.subjects.distillation.instruments.angles import angle

TIED = 256  # angles that differ by at most this multiple of the machine epsilon count as equal


@instrument(source="T5 eq. 5.34", ids=("T5.F5",))
def monotonicity(before: Numbers, after: Numbers, w_star: Numbers) -> Float[Tensor, "*lane"]:
    """The monotonicity index: the share of transfer sets for which one more point reduces the angle to the teacher.

    m = P[ᾱ(w*, w([X, x])) < ᾱ(w*, w(X))], estimated over the given transfer sets. Where the new point changes nothing,
    as for a hard-label student if it is no support example, the two angles differ by rounding. So an angle counts as
    smaller only if it is smaller by more than 256 times the machine epsilon.

    Args:
        before: Students of the transfer sets, (…, sets, d).
        after: Students of the same sets with one more point, of the same shape.
        w_star: The teacher w*, (d,).

    >>> monotonicity(torch.tensor([[1.0, 1.0], [1.0, 0.5]]), torch.tensor([[1.0, 0.5], [1.0, 1.0]]), torch.eye(2)[0])
    tensor(0.5000)
    """
    before, after, w_star = tensors(before=before, after=after, w_star=w_star)
    if before.shape != after.shape or before.dim() < 2:
        raise UserError(
            "expected two arrays of students of the same shape (…, sets, d), got "
            f"{tuple(before.shape)} and {tuple(after.shape)}"
        )
    tied = TIED * torch.finfo(before.dtype).eps
    return (angle(after, w_star) < angle(before, w_star) - tied).to(before.dtype).mean(-1)
