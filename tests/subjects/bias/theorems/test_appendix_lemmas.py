"""Lemmas A.1, A.2 and B.1 of IB: naive twins, other scales, and what must not pass."""

import numpy as np
import pytest
import torch

from relulab.core.errors import UserError
from relulab.core.seeds import Role, stream
from relulab.data.labeled import Labeled
from relulab.lab.theorem import Verdict
from relulab.subjects.bias.instruments.extremal import extremal_directions
from relulab.subjects.bias.instruments.sectors import sector
from relulab.subjects.bias.theorems import lasting_activations as lasting_module
from relulab.subjects.bias.theorems.extremal_gradient import extremal_gradient, projected_gradient
from relulab.subjects.bias.theorems.gain_near_a_direction import directions, gain_near_a_direction, largest_move
from relulab.subjects.bias.theorems.lasting_activations import lasting_activations
from relulab.subjects.bias.tools.cone_ascent import is_strict, local_maximum
from relulab.subjects.bias.tools.neuron_flow import neuron_flow
from relulab.subjects.bias.tools.orthants import OppositeOrthants


def random_points(seed=0, n=10, d=3) -> Labeled:
    rng = stream(seed, Role.DEMONSTRATION, 16)
    return Labeled(torch.from_numpy(rng.standard_normal((n, d))), torch.from_numpy(rng.choice((-1.0, 1.0), n)))


def test_the_ascent_by_cones_finds_the_directions_of_the_search_by_arcs():
    data = random_points()
    X, y = (data.X / data.X.norm(dim=1).max()).numpy(), data.y.numpy()
    arcs = extremal_directions(data.X, data.y, starts=64)
    known = arcs.w[arcs.G > 1e-9].numpy()
    starts = np.random.default_rng(0).standard_normal((24, 3))
    ends = [local_maximum(w / np.linalg.norm(w), X, y) for w in starts]
    found = [end for end in ends if end is not None]
    assert len(found) > 12
    assert max(np.linalg.norm(known - end, axis=1).min() for end in found) < 1e-9
    assert all(is_strict(w, X, y) for w in known) and is_strict(-known[0], X, y) is False


def test_given_directions_are_tested():
    data = random_points()
    w = extremal_directions(data.X, data.y, starts=64).of(1).w
    assert extremal_gradient(data, w).verdict is Verdict.HOLDS
    assert extremal_gradient(data, w + 0.01).verdict is Verdict.NOT_APPLICABLE


@pytest.mark.parametrize("scale", [1e-100, 1e100])
def test_the_scale_of_the_points_does_not_matter(scale):
    data = random_points()
    scaled = Labeled(data.X * scale, data.y)
    assert extremal_gradient(scaled, starts=6).verdict is Verdict.HOLDS
    w, v = directions(data, 20, 0)
    assert gain_near_a_direction(scaled, w, v / scale).verdict is Verdict.HOLDS
    assert gain_near_a_direction(scaled, w, v, fixed=True).verdict is Verdict.REFUTED
    orthants = OppositeOrthants(3).draw(stream(0, Role.TRAIN, 0), 8)
    finding = lasting_activations(Labeled(orthants.X * scale, orthants.y), width=4, until=2, step=0.8)
    assert finding.verdict is Verdict.HOLDS


def test_the_projected_gradient_equals_one_by_gram_schmidt():
    data, sigma = random_points(), torch.tensor([0, 1, -1, 1, 0, 1, -1, -1, 1, 1])
    first = data.X[0] / data.X[0].norm()
    second = data.X[4] - (data.X[4] @ first) * first
    second = second / second.norm()
    naive = torch.zeros(3).double()
    for x, y, s in zip(data.X, data.y, sigma, strict=True):
        if s > 0:
            naive += y / 2 * (x - (x @ first) * first - (x @ second) * second)
    torch.testing.assert_close(projected_gradient(sigma, data.X, data.y), naive)


def test_no_sign_changes_up_to_twice_the_largest_move():
    data = random_points()
    w, v = directions(data, 40, 0)
    sigma = sector(w, data.X, tolerance=1e-12)
    farthest = largest_move(w, v, data.X, sigma)[:, None]
    for factor, changes in ((1.99, False), (2.01, True)):
        after = sector(w + factor * farthest * v, data.X)
        changed = ((sigma != 0) & (after != sigma)).any(1) & (farthest[:, 0] < 900)
        assert bool(changed.any()) is changes
    assert (sigma == 0).any(1).sum() >= 20  # every second direction lies on a kink


def test_directions_and_moves_must_fit():
    with pytest.raises(UserError, match="one row of w per row of v"):
        gain_near_a_direction(random_points(), torch.zeros(0, 3).double(), torch.zeros(0, 3).double())
    with pytest.raises(UserError, match="at most 500 points"):
        extremal_gradient(random_points(n=501))


@pytest.mark.parametrize("loss", ["sigmoid", "rational"])
def test_activations_last_with_other_losses(loss):
    data = OppositeOrthants(4).draw(stream(0, Role.TRAIN, 0), 12)
    assert lasting_activations(data, width=8, until=2, step=0.8, loss=loss).verdict is Verdict.HOLDS
    assert lasting_activations(data, width=8, loss="hinge").verdict is Verdict.NOT_APPLICABLE


def test_a_lost_activation_would_be_seen(monkeypatch):
    def there_and_back(*arguments, **options):
        path = neuron_flow(*arguments, **options)
        return path.only(torch.tensor([0, len(path) - 1, 0]))

    monkeypatch.setattr(lasting_module, "neuron_flow", there_and_back)
    data = OppositeOrthants(4).draw(stream(0, Role.TRAIN, 0), 12)
    finding = lasting_activations(data, width=8, until=2, step=0.8)
    assert finding.verdict is Verdict.INCONCLUSIVE  # the path ends where it began
    monkeypatch.setattr(lasting_module, "MOVED", -1.0)
    assert lasting_activations(data, width=8, until=2, step=0.8).verdict is Verdict.REFUTED
