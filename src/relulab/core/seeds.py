"""Random streams: one root seed, and a generator of its own for every role and index.

A stream depends on (root, role, index) alone, so seed 7 has the same teacher, data, start and batches whether it is
trained alone, among 32, in another process or on another day. Draw in float64, cast, then stack.
"""

from enum import IntEnum

import numpy as np

from relulab.core.errors import UserError


class Role(IntEnum):
    """What a stream is for. The numbers are part of every result: never reuse or change one."""

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


def stream(root: int, role: Role, *index: int) -> np.random.Generator:
    """The generator of one role, for instance ``stream(0, Role.BATCHES, seed, epoch)``.

    >>> bool(stream(0, Role.TEACHER, 7).random() == stream(0, Role.TEACHER, 7).random())
    True
    >>> bool(stream(0, Role.TEACHER, 7).random() == stream(0, Role.STUDENT, 7).random())
    False
    """
    wrong = [number for number in (root, *index) if not 0 <= number < 2**32]
    if wrong:  # larger numbers would share streams with others
        raise UserError(f"seeds are whole numbers from 0 to 2³² − 1, given was {wrong[0]}")
    return np.random.default_rng(np.random.SeedSequence(root, spawn_key=(int(role), *index)))
