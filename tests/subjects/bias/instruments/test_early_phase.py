"""Where units are after the early phase: against a loop, at kinks, and after a flow that was really run."""

import pytest
import torch

from relulab.core.errors import UserError
from relulab.core.seeds import Role, stream
from relulab.subjects.bias.instruments.early_phase import Place, neuron_sectors
from relulab.subjects.bias.instruments.extremal import extremal_directions
from relulab.subjects.bias.instruments.sectors import extremal_sectors
from relulab.subjects.bias.tools.orthants import OppositeOrthants

# the third point is orthogonal to the positive class, the fourth is not
X = torch.tensor([[1, 0, 0], [2, 1, 0], [0, 0, 1], [-1, 0, 3]]).double()
Y = torch.tensor([1, 1, -1, -1]).double()


def naive(w, a, X, y):
    products = [float(w @ x) for x in X]
    if all(p <= 0 for p in products):
        return Place.OFF
    closed = extremal_sectors(X, y)
    for sigma, sign, place in ((closed[0], 1, Place.POSITIVE), (closed[1], -1, Place.NEGATIVE)):
        if a * sign > 0 and all(p <= 0 if s == 0 else p * s > 0 for p, s in zip(products, sigma.tolist(), strict=True)):
            return place
    return Place.UNDECIDED


def test_codes_and_counts_are_those_of_a_loop():
    rng = stream(0, Role.DEMONSTRATION, 9)
    W, a = torch.from_numpy(rng.standard_normal((4, 300, 3))), torch.from_numpy(rng.standard_normal((4, 300)))
    found = neuron_sectors(W, a, X, Y)
    for lane in range(4):
        expected = [int(naive(w, b, X, Y)) for w, b in zip(W[lane], a[lane], strict=True)]
        assert found.code[lane].tolist() == expected
        assert found.counts[lane].tolist() == [expected.count(code) for code in range(4)]
    assert (found.counts > 0).all()


def test_at_a_kink_of_the_closed_form_below_is_inside_and_above_is_not():
    W = torch.tensor([[1, 0.2, 0], [1, 0.2, -0.1], [1, 0.2, 0.1], [1, 0.2, 1e-17]]).double()
    places = [Place.POSITIVE, Place.POSITIVE, Place.UNDECIDED, Place.POSITIVE]
    assert neuron_sectors(W, torch.ones(4).double(), X, Y).code.tolist() == places
    loose = neuron_sectors(W, torch.ones(4).double(), X, Y, tolerance=0.2)
    assert loose.code.tolist() == [Place.POSITIVE] * 4


def test_the_sign_of_a_must_be_that_of_the_sector_and_off_is_off_with_any():
    w = torch.tensor([[1, 0.2, 0], [1, 0.2, 0], [-1, -1, -9], [-1, -1, -9], [0, 0, 0]]).double()
    code = neuron_sectors(w, torch.tensor([-1, 0, 1, -1, 1]).double(), X, Y).code
    assert code.tolist() == [Place.UNDECIDED] * 2 + [Place.OFF] * 3


def flow(X, y, *, p=60, steps=4000, rate=0.01):
    """A network in its infancy: a and w so small that the outputs are 0, Euler steps of the flow of each unit."""
    rng = stream(1, Role.DEMONSTRATION, 9)
    W = torch.from_numpy(rng.standard_normal((p, X.shape[1])))
    sign = torch.from_numpy(rng.choice([-1.0, 1.0], p))
    for _ in range(steps):
        W = W + rate * W.norm(dim=1, keepdim=True) * sign[:, None] * ((W @ X.T > 0) * y / 2) @ X
        W = W / W.norm(dim=1, keepdim=True)
    return W, sign


@pytest.mark.parametrize("data", [(X, Y), OppositeOrthants(4).draw(stream(0, Role.DEMONSTRATION, 9), 12)[:2]])
def test_after_the_flow_no_unit_is_undecided(data):
    W, a = flow(*data)
    counts = neuron_sectors(W, a, *data).counts
    assert counts[Place.UNDECIDED] == 0 and counts[Place.POSITIVE] > 10 and counts[Place.NEGATIVE] > 10


def test_sectors_that_are_given_serve_on_other_data():
    """Two positive points more than 90° apart: the closed form knows one of three positive sectors."""
    X, y = torch.tensor([[1, 3], [1, -3], [-1, 0]]).double(), torch.tensor([1, 1, -1]).double()
    W, a = flow(X, y)
    found = extremal_directions(X, y)
    given = {"positive": found.of(1).sigma, "negative": found.of(-1).sigma}
    known, all_of_them = neuron_sectors(W, a, X, y).counts, neuron_sectors(W, a, X, y, tolerance=0.05, **given).counts
    assert known[Place.UNDECIDED] > 10 and all_of_them[Place.UNDECIDED] == 0
    assert all_of_them[Place.POSITIVE] > known[Place.POSITIVE] > 0


def test_what_cannot_be_asked():
    sigma, W = torch.ones(1, 4, dtype=torch.int8), torch.ones(5, 3).double()
    with pytest.raises(UserError, match="pass both positive and negative"):
        neuron_sectors(W, torch.ones(5).double(), X, Y, positive=sigma)
    with pytest.raises(UserError, match="expected labels −1 and 1"):
        neuron_sectors(W, torch.ones(5).double(), X, 2 * Y)
    with pytest.raises(UserError, match=r"got shapes \(5, 3\) and \(4,\)"):
        neuron_sectors(W, [1.0] * 4, X, Y)
    with pytest.raises(UserError, match=r"expected sectors of shape \(any number, 4\), .* got shape \(1, 3\)"):
        neuron_sectors(W, [1.0] * 5, X, Y, positive=[[1, 1, 1]], negative=sigma)


def test_arrays_and_lists_do_as_well_as_tensors():
    rng = stream(2, Role.DEMONSTRATION, 9)
    W, a = rng.standard_normal((50, 3)), rng.standard_normal(50)
    closed = [sigma[None] for sigma in extremal_sectors(X, Y)]
    expected = neuron_sectors(torch.from_numpy(W), torch.from_numpy(a), X, Y).code
    assert torch.equal(neuron_sectors(W, a.tolist(), X.float(), Y.int().tolist()).code, expected)
    strict = neuron_sectors(torch.from_numpy(W), torch.from_numpy(a), X, Y, positive=closed[0], negative=closed[1])
    again = neuron_sectors(W, a, X.tolist(), Y, positive=closed[0].tolist(), negative=closed[1].numpy())
    assert torch.equal(again.code, strict.code) and not torch.equal(strict.code, expected)
