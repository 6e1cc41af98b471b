"""IB.L2 on sets of its own: it holds, does not apply, or cannot tell; the demonstrations are tried with all others."""

import pytest
import torch

import relulab
from relulab.core.errors import UserError
from relulab.core.seeds import Role, stream
from relulab.lab.inputs.labeled_table import LabeledTable
from relulab.lab.theorem import Verdict
from relulab.subjects.bias.theorems import two_extremal_directions as module
from relulab.subjects.bias.theorems.two_extremal_directions import linearly_separable, two_extremal_directions
from relulab.subjects.bias.tools.orthants import OppositeOrthants


@pytest.mark.parametrize(("d", "n"), [(2, 6), (5, 30), (20, 60)])
def test_holds_in_opposite_orthants(d, n):
    data = OppositeOrthants(d).draw(stream(d, Role.DEMONSTRATION, 9), n)
    finding = relulab.bias.two_extremal_directions(data.X, data.y, starts=128)
    assert finding.verdict is Verdict.HOLDS and len(finding.conclusion) == 4


def test_a_turned_set_keeps_its_verdict_though_right_angles_are_rounded():
    data = module._with_zeros()
    turn = torch.linalg.qr(torch.from_numpy(stream(3, Role.DEMONSTRATION, 9).standard_normal((4, 4)))).Q
    X = data.X @ turn
    between = (X @ X.T)[data.y[:, None] != data.y]
    assert (between > 0).any(), "rounding should leave some right angles acute, or this tests nothing"
    assert two_extremal_directions(X, data.y).verdict is Verdict.HOLDS


@pytest.mark.parametrize(
    "X",
    [
        [[1, 0], [0, 1], [-1, -1]],  # a right angle within a class
        [[1, 1], [1, 0], [-1, 2]],  # an acute one between classes
        [[1, 1], [0, 0], [-1, -1]],  # a zero point
    ],
)
def test_does_not_apply_if_one_product_is_wrong(X):
    finding = two_extremal_directions(torch.tensor(X).double(), torch.tensor([1, 1, -1]))
    assert finding.verdict is Verdict.NOT_APPLICABLE


def test_does_not_apply_to_one_class():
    assert two_extremal_directions(torch.ones(2, 2), torch.ones(2)).verdict is Verdict.NOT_APPLICABLE


def test_counts_refute_the_variant_for_linear_separability():
    data = module._obtuse()
    finding = two_extremal_directions(data.X, data.y, linear=True)
    assert finding.conclusion[0].measured == 3 and finding.verdict is Verdict.REFUTED
    across = torch.tensor([[1, 0], [-1, 0], [2, 0.0]]).double()
    assert two_extremal_directions(across, torch.tensor([1, 1, -1]), linear=True).verdict is Verdict.NOT_APPLICABLE


def test_the_margin_of_the_best_separator():
    X = torch.tensor([[0.6, 0.8], [0.6, -0.8]]).double()
    for lengths in (torch.ones(2, 1), torch.tensor([[1e-100], [1e100]], dtype=torch.float64)):
        measured = linearly_separable(X * lengths, torch.ones(2).double()).measured
        assert measured == pytest.approx(0.6, abs=1e-7)  # the tolerance of the linear program


def test_lost_starts_say_nothing(monkeypatch):
    data = module._orthants()
    search = module.extremal_directions

    def hurried(X, y, **options):
        return search(X, y, **options)._replace(lost=torch.tensor([3, 0]))

    monkeypatch.setattr(module, "extremal_directions", hurried)
    assert two_extremal_directions(data.X, data.y).verdict is Verdict.INCONCLUSIVE


def test_a_table_with_more_points_than_can_be_searched_is_one_sentence():
    data = OppositeOrthants(3).draw(stream(0, Role.TRAIN, 0), 2001)
    with pytest.raises(UserError, match="2,001 points"):
        module.THEOREM.on[LabeledTable](data)


@pytest.mark.parametrize("scale", [1e-300, 1e-150, 1e-6, 1e6, 1e100])
def test_the_scale_of_the_points_does_not_matter(scale):
    data = OppositeOrthants(4).draw(stream(4, Role.DEMONSTRATION, 9), 12)
    assert two_extremal_directions(data.X * scale, data.y, starts=32).verdict is Verdict.HOLDS
    assert two_extremal_directions(data.X * scale, data.y, starts=32, exchanged=True).verdict is Verdict.REFUTED


def test_points_of_very_different_lengths():
    X = torch.tensor([[0, 1], [1e-10, 1e-10], [-1, 0], [-1, -1]]).double()
    assert two_extremal_directions(X, torch.tensor([1, 1, -1, -1]), starts=16).verdict is Verdict.HOLDS
    data = OppositeOrthants(3).draw(stream(4, Role.DEMONSTRATION, 9), 10)
    for seed in range(3):
        lengths = torch.from_numpy(10.0 ** stream(seed, Role.DEMONSTRATION, 9).uniform(-8, 7, (10, 1)))
        assert two_extremal_directions(data.X * lengths, data.y, starts=16).verdict is Verdict.HOLDS


def test_a_sign_within_the_tolerance_is_unknown():
    sigma = torch.tensor([[1, 0, -1]], dtype=torch.int8)
    extremal = module.Extremal(
        torch.ones(1, 2), torch.ones(1, dtype=torch.int8), sigma, torch.ones(1), torch.ones(1).long(),
        torch.zeros(2).long(), torch.zeros(2).long(),
    )  # fmt: skip
    signs = {(1, -1, -1): None, (1, 0, -1): True, (1, -1, 1): False}
    for expected, holds in signs.items():
        assert module._side(extremal, 1, "positive", torch.tensor(expected, dtype=torch.int8), 13)[1].holds is holds
