"""What the instruments of the inductive bias are tried on by the battery."""

import torch
from battery import LANES, SAMPLES, STUDENTS, Case, classes, drawn, labels, points


def units(dtype):
    """First- and second-layer weights with two lane axes, so that those of the second layer have more than two too."""
    return drawn(3, LANES, 2, STUDENTS, 5, dtype=dtype), drawn(4, LANES, 2, STUDENTS, dtype=dtype)


def directions(dtype):
    """Two vectors a lane."""
    return drawn(5, 2, LANES, 2, 5, dtype=dtype).unbind()


CASES = {
    "sector_gain": Case(
        lambda t: (units(t)[0], points(t), labels(t)), students=(-2, None, None), permuted=((-1,),)
    ),
    "sector": Case(lambda t: (units(t)[0], points(t)), students=(-2, None), permuted=((-2,),)),
    "extremal_sectors": Case(lambda t: (points(t), labels(t)), lanes=False),
    "extremal_directions": Case(
        lambda t: (points(t)[:8], labels(t)[:8]), lanes=False, by_cpu="NumPy's exact test of a maximum"
    ),
    "neuron_sectors": Case(
        lambda t: (*units(t), points(t), labels(t)), students=(-2, -1, None, None), permuted=((-1,), ())
    ),
    "limit_distance": Case(
        lambda t: (*units(t), *directions(t)), students=(-2, -1, None, None),
        permuted=((-1,), (-1,), (-1,), (), (), ()),
    ),
    "separability": Case(
        lambda t: (points(t), torch.arange(SAMPLES) % 2), lanes=False, by_cpu="NumPy's sorting of pairs"
    ),
    "max_margin": Case(classes, lanes=False, double=True, by_cpu="daqp"),
}  # fmt: skip
