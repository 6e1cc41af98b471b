"""Trajectories: snapshots by name, the end of the flow, and error messages."""

import numpy as np
import pytest
import torch

from relulab.core.errors import UserError
from relulab.flow.trajectory import Trajectory


@pytest.mark.parametrize("make", [np.array, torch.tensor])
def test_the_end_is_the_last_snapshot_of_the_first_state(make):
    path = Trajectory(make([0.0, 1.0, 5.0]), {"w": make([[1.0], [2.0], [3.0]]), "loss": make([3.0, 2.0, 1.0])})
    assert path.end.tolist() == [3.0] and path["loss"].tolist() == [3.0, 2.0, 1.0] and len(path) == 3
    late = path.only(path["loss"] < 3)
    assert late.times.tolist() == [1.0, 5.0] and late["w"].tolist() == [[2.0], [3.0]] and late.says == path.says
    assert path.only(make([0])).end.tolist() == [1.0]


def test_a_dense_trajectory_is_known_between_its_snapshots():
    times = np.array([0.0, 2.0])
    path = Trajectory(times, {"w": times**2}, dense=lambda t: t**2)
    assert path.at(np.array([0.5, 1.5])).tolist() == [0.25, 2.25]
    with pytest.raises(UserError, match="states only at its snapshots"):
        Trajectory(times, {"w": times}).at(times)


def test_times_beyond_the_end_are_refused():
    times = np.array([0.0, 0.1, 2.0])
    path = Trajectory(times, {"w": times**2}, dense=lambda t: t**2)
    assert path.at(np.array([2.0 * (1 + 1e-15), 0.0])).tolist() == pytest.approx([4.0, 0.0])
    for beyond, given in ((5.0, "5"), (-0.5, "-0.5"), (np.nan, "nan")):
        with pytest.raises(
            UserError, match=rf"expected times from 0 to 2, .* got {given}: follow the flow for a longer"
        ):
            path.at(np.array([1.0, beyond]))


def test_missing_states_and_wrong_lengths_are_refused():
    times = np.array([0.0, 1.0])
    with pytest.raises(UserError, match="did you mean 'loss'"):
        Trajectory(times, {"w": times, "loss": times})["los"]
    for states in ({}, {"w": np.zeros(3)}, {"w": times, "loss": np.zeros(1)}):
        with pytest.raises(UserError, match="expected at least one state, and 2 snapshots of each for 2 times, got"):
            Trajectory(times, states)
