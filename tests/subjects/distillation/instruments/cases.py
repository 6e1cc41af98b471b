"""What the instruments of linear distillation are tried on by the battery."""

import torch
from battery import LANES, STUDENTS, Case, drawn, points


def pairs(dtype):
    """Two vectors for every student."""
    return drawn(6, LANES, STUDENTS, 5, dtype=dtype), drawn(7, LANES, STUDENTS, 5, dtype=dtype)


def transfer_sets(dtype):
    """Fewer points than dimensions, here in place of students, and a teacher."""
    return drawn(5, LANES, STUDENTS, 9, dtype=dtype), torch.linspace(-1, 2, 9, dtype=dtype)


CASES = {
    "angle": Case(pairs, students=(-2, -2), permuted=((-1,),)),
    "signed_angle": Case(pairs, students=(-2, -2), permuted=((-1,),)),
    "spherical_risk": Case(pairs, students=(-2, -2), permuted=((-1,),)),
    "distilled": Case(transfer_sets, double=True, students=(-2, None), permuted=((), ())),
    "deep_limit": Case(
        lambda t: (*transfer_sets(t), torch.linspace(1e-3, 2e-3, 9, dtype=t), 2),
        double=True, students=(-2, None, None, None), permuted=((), (), (), ()),
    ),
    "transfer_risk": Case(
        lambda t: (pairs(t)[0], points(t)[0], points(t)), double=True, students=(-2, None, None),
        permuted=((-1,), (-1,), (-1,)), by_cpu="SciPy's binomial intervals",
    ),
    "monotonicity": Case(lambda t: (*pairs(t), points(t)[0]), students=(-2, -2, None), permuted=((),)),
}  # fmt: skip
