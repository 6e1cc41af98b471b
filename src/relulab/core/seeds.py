"""Random streams: one root seed, and a separate generator for every role and index.

A stream depends only on (root, role, index). So seed 7 has the same teacher, data, initial weights and batches whether
it is trained alone, together with 31 others, or in another process. Draw in float64, then cast, then stack.
"""

from collections.abc import Sequence
from enum import IntEnum

import numpy as np

from relulab.core.errors import UserError


class Role(IntEnum):
    """The purpose of a stream. All results depend on these numbers: never change or reuse one."""

    TEACHER = 1
    STUDENT = 2
    TRAIN = 3
    HELD_OUT = 4
    BATCHES = 5
    DEMONSTRATION = 6
    CHANCE = 7
    LABEL_NOISE = 8
    AUGMENTATION = 9
    RANDOM_LAYERS = 10


def generator(rng: np.random.Generator | int) -> np.random.Generator:
    """Return a random generator, which may be given by its seed.

    Args:
        rng: A random generator, or a seed from 0.

    >>> bool(generator(7).random() == np.random.default_rng(7).random())
    True
    """
    if isinstance(rng, int | np.integer) and rng < 0:
        raise UserError(f"expected a random generator or a seed of at least 0, got rng={rng}: choose another seed")
    return np.random.default_rng(rng)


def stream(root: int, role: Role, *index: int) -> np.random.Generator:
    """Return the generator of one role, for instance ``stream(0, Role.BATCHES, seed, epoch)``.

    Args:
        root: The root seed.
        role: The purpose of the stream.
        index: Further integers, such as the seed and the epoch.

    >>> bool(stream(0, Role.TEACHER, 7).random() == stream(0, Role.TEACHER, 7).random())
    True
    >>> bool(stream(0, Role.TEACHER, 7).random() == stream(0, Role.STUDENT, 7).random())
    False
    """
    _check(root, *index)
    return np.random.default_rng(np.random.SeedSequence(root, spawn_key=(int(role), *index)))


def check_seeds(root: int, seeds: Sequence[int]) -> None:
    """Raise a ``UserError`` if there are no seeds, or if one of them has no stream.

    Args:
        root: The root seed.
        seeds: The seeds of the lanes.
    """
    if not len(seeds):
        raise UserError("expected at least one seed, got none: give one seed per lane")
    _check(root, *seeds)


def _check(*numbers: int) -> None:
    wrong = [number for number in numbers if not 0 <= number < 2**32]
    if wrong:  # a larger number would share its stream with other numbers
        raise UserError(f"expected seeds from 0 to 2³² − 1 = 4294967295, got {wrong[0]}: choose a seed in this range")
