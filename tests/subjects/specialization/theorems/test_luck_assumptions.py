"""Assumptions 2 and 3 and lemmas 2 to 4 of Luck Matters, on nodes with known answers and on networks with points."""

import math

import numpy as np
import pytest
import torch

from relulab import UserError, Verdict
from relulab.nets.mlp import MLP
from relulab.subjects.specialization import (
    Nodes,
    bottom_bounds,
    equal_width_recovery,
    lipschitz_overlaps,
    over_realized_recovery,
    quadratic_fall_off,
    small_overlaps,
    top_bounds,
)
from relulab.subjects.specialization.theorems import (
    bottom_bounds as lemma_2,
)
from relulab.subjects.specialization.theorems import (
    equal_width_recovery as theorem_4,
)
from relulab.subjects.specialization.theorems import (
    lipschitz_overlaps as assumption_2,
)
from relulab.subjects.specialization.theorems import (
    over_realized_recovery as theorem_5,
)
from relulab.subjects.specialization.theorems import (
    quadratic_fall_off as lemma_4,
)
from relulab.subjects.specialization.theorems import (
    small_overlaps as assumption_3,
)
from relulab.subjects.specialization.theorems import (
    top_bounds as lemma_3,
)
from relulab.subjects.specialization.tools.lucky_examples import lucky_pair, near_nodes, orthogonal

NORMAL = torch.from_numpy(np.random.default_rng(5).standard_normal((4000, 6)))


def a_network(nodes: Nodes, above: int = 3) -> MLP:
    net = MLP((nodes.w.shape[1], len(nodes.b), above), dtype=torch.float64)
    net.W[0].data[0], net.b[0].data[0, 0] = nodes.w.T, nodes.b
    net.W[1].data.normal_(generator=torch.Generator().manual_seed(0))
    return net


@pytest.mark.parametrize(("bias", "share"), [(0.0, 0.5), (-1.0, 0.1587), (-2.0, 0.02275), (-4.0, 3.167e-5)])
def test_orthogonal_nodes_overlap_as_often_as_one_of_them_is_active(bias, share):
    checks = small_overlaps(orthogonal(bias), largest=share * 1.01).conclusion
    assert checks[0].measured == pytest.approx(share, rel=1e-3) and checks[0].holds
    assert small_overlaps(orthogonal(bias), largest=share * 0.99).conclusion[0].holds is False


def test_on_points_the_estimate_is_within_its_error_of_the_closed_form():
    for seed in range(5):
        x = torch.from_numpy(np.random.default_rng(seed).standard_normal((20_000, 6)))
        pairs = zip(small_overlaps(orthogonal(-1.0), x).conclusion, small_overlaps(orthogonal(-1.0)).conclusion,
                    strict=True)  # fmt: skip
        for sampled, exact in pairs:
            # the largest of 30 estimates is above the largest true ratio, all of which are equal
            assert exact.measured - 0.01 < sampled.measured < exact.measured + sampled.error


def test_nodes_that_are_never_active_together_are_not_taken_for_certain_from_few_points():
    x = torch.eye(6).double().repeat(5, 1) * 3
    finding = small_overlaps(orthogonal(-1.0), x)
    assert finding.conclusion[0].measured == 0 and finding.verdict is Verdict.INCONCLUSIVE
    assert small_overlaps(orthogonal(-1.0), x.repeat(400, 1)).verdict is Verdict.HOLDS
    assert small_overlaps(orthogonal(-9.0), x).verdict is Verdict.NOT_APPLICABLE


def test_upper_layers_of_a_network_are_checked_on_their_own_inputs():
    net = MLP((6, 5, 4, 2), dtype=torch.float64)
    for p in net.parameters():
        p.data.normal_(generator=torch.Generator().manual_seed(p.numel()))
    finding = assumption_3.of_network(net, NORMAL, layer=2)
    below = net.layers(NORMAL)[0][0].detach()
    expected = small_overlaps(Nodes(net.W[1].data[0].T, net.b[1].data[0, 0]), below)
    assert [c.measured for c in finding.conclusion] == [c.measured for c in expected.conclusion]
    with pytest.raises(UserError, match="hidden layer 3"):
        assumption_3.of_network(net, NORMAL, layer=3)


@pytest.mark.parametrize("angle", [1e-4, 0.02, 0.3])
def test_lipschitz_constants_hold_for_triples_and_are_nearly_reached(angle):
    nodes = Nodes(NORMAL[:4], torch.tensor([-3.0, -1.0, 0.0, 1.0]).double())
    finding = lipschitz_overlaps(nodes, angle)
    assert finding.verdict is Verdict.HOLDS
    assert angle > 0.1 or all(c.measured > 0.9 for c in finding.conclusion)


def test_a_smaller_constant_is_refuted_and_a_larger_one_holds():
    nodes = orthogonal(-1.0, 3)
    assert lipschitz_overlaps(nodes, 0.02, K_d=2.0).verdict is Verdict.REFUTED
    assert lipschitz_overlaps(nodes, 0.02, K_l=3.0).verdict is Verdict.REFUTED
    assert lipschitz_overlaps(nodes, 0.02, K_d=10.0, K_l=20.0).verdict is Verdict.HOLDS
    with pytest.raises(UserError, match="positive constants"):
        lipschitz_overlaps(nodes, 0.02, K_d=0.0)


@pytest.mark.parametrize(("bias", "angle"), [(0.0, 0.3), (-2.5, 0.05), (-4.0, 0.01)])
def test_lemmas_2_and_3_hold_from_many_starts(bias, angle):
    for index in range(30, 40):
        star, near = near_nodes(4, bias=bias, angle=angle, index=index)
        assert bottom_bounds(star, near).verdict is Verdict.HOLDS
        teacher, student = a_network(star), a_network(near)
        rng = np.random.default_rng(index)
        student.W[1].data += torch.from_numpy(rng.standard_normal((1, 4, 3))) * rng.choice([0, 0.1, 3])
        assert top_bounds(teacher, student).verdict is Verdict.HOLDS


def test_lemma_4_by_the_limit_of_small_angles():
    nodes = orthogonal(0.0, 2)
    finding = quadratic_fall_off(nodes, 0.05)
    assert 0.99 < finding.conclusion[0].measured <= 1
    # without biases: (l − l*)/(l* ‖δw‖²) tends to a half
    assert finding.conclusion[0].detail.endswith("with C_0 up to 0.501")
    assert quadratic_fall_off(nodes, 0.05, of_d=True).verdict is Verdict.REFUTED


def test_on_networks_with_points():
    """Inputs from N(0, I) give the verdict of the nodes; other inputs are not covered."""
    star, near = near_nodes()
    nets, wide = (a_network(star), a_network(near)), lucky_pair()
    cases = (
        (lemma_2.of_networks, nets, {}), (theorem_4.of_networks, nets, {"steps": 3}), (lemma_3.of_networks, nets, {}),
        (theorem_5.of_networks, wide, {"steps": 3}), (assumption_2.of_network, nets[:1], {}),
        (lemma_4.of_network, nets[:1], {}),
    )  # fmt: skip
    for check, networks, options in cases:
        # the standard deviation of a sample is not 1, so biases are slightly different
        assert check(*networks, NORMAL, **options).verdict is Verdict.HOLDS, check
        assert check(*networks, NORMAL + 0.2, **options).verdict is Verdict.NOT_APPLICABLE, check


def test_angles_of_networks_in_float32_are_checked_in_float64():
    star, near = near_nodes(angle=1e-3)
    finding = equal_width_recovery(Nodes(star.w.float(), star.b.float()), Nodes(near.w.float(), near.b.float()))
    assert finding.verdict is Verdict.HOLDS
    assert over_realized_recovery(*(net.float() for net in lucky_pair()), steps=5).verdict is Verdict.HOLDS


def test_lanes_and_points_of_another_kind_are_refused():
    lanes = Nodes(torch.ones(2, 3, 4), torch.ones(2, 3))
    with pytest.raises(UserError, match="one network"):
        small_overlaps(lanes)
    with pytest.raises(UserError, match="one row"):
        equal_width_recovery(lanes, lanes)
    with pytest.raises(UserError, match="counts as small"):
        small_overlaps(orthogonal(0.0), largest=math.inf)
    with pytest.raises(UserError, match="6 inputs"):
        small_overlaps(orthogonal(0.0), torch.zeros(5, 3))
