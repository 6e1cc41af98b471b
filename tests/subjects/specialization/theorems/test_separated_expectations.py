"""LM.A1 and LM.T2: what they say where expectations separate, where they do not, and where that is unknown."""

import numpy as np
import pytest
import torch

import relulab as rl
from relulab import UserError, Verdict
from relulab.subjects.specialization import separated_dynamics, separated_expectations
from relulab.subjects.specialization.tools.separable_pairs import mirrored_pair, open_pair


def random_pair(n: int = 400, lanes: int = 1):
    star, net = (rl.torch_default(w, range(k, k + lanes), dtype=torch.float64)
                 for k, w in ((3, (4, 3, 5, 2)), (0, (4, 6, 4, 2))))  # fmt: skip
    return star, net, torch.from_numpy(np.random.default_rng(1).standard_normal((n, 4)))


def test_the_constructed_pairs_are_what_they_should_be():
    star, net, x = open_pair(np.random.default_rng(0))
    assert all(bool((f > 0).all()) for one in (star, net) for f in one.layers(x)[:-1])
    star, net, x = mirrored_pair(np.random.default_rng(0))
    for one in (star, net):
        first, second, _ = one.layers(x)
        assert 0.2 < float((first > 0).double().mean()) < 0.8 and bool((second > 0).all())
    torch.testing.assert_close(x[:30], -x[30:])


def test_a_detail_says_how_far_it_is_off():
    check = separated_expectations(*random_pair()).conclusion[0]
    assert check.measured > 0.05 and "%" in check.detail and "±" in check.detail
    assert not any("±" in c.detail for c in separated_expectations(*random_pair(10)).conclusion)


def test_a_difference_that_sampling_explains_does_not_refute():
    """Points from a symmetric distribution, but not in pairs: the expectations separate, their estimates do not."""
    star, net, _ = mirrored_pair(np.random.default_rng(0), hidden=(3,))
    x = torch.from_numpy(np.random.default_rng(5).standard_normal((800, 4)))
    finding = separated_expectations(star, net, x, nodes=8)
    assert finding.verdict is Verdict.INCONCLUSIVE  # the points cannot show differences of 1%
    many = torch.from_numpy(np.random.default_rng(5).standard_normal((200_000, 4)))
    assert separated_expectations(star, net, many, nodes=8).verdict is Verdict.HOLDS


def test_the_condition_of_the_dynamics_is_about_the_points_themselves():
    star, net, x = mirrored_pair(np.random.default_rng(0))
    assert separated_dynamics(star, net, x).verdict is Verdict.HOLDS
    found = separated_dynamics(star, net, x[:-1])  # one point without its mirror image
    assert found.verdict is Verdict.NOT_APPLICABLE and found.conclusion[0].holds is False


def test_every_layer_of_weights_is_compared_and_the_top_is_always_right():
    finding = separated_dynamics(*random_pair())
    assert [c.says.split(" ")[0] for c in finding.conclusion] == ["Ẇ_0", "Ẇ_1", "Ẇ_2"]
    assert [c.holds for c in finding.conclusion] == [False, False, True]


def test_lanes_are_all_compared():
    star, net, x = open_pair(np.random.default_rng(0))
    bad = random_pair()
    nets = [rl.MLP.of(one.module(), other.module()) for one, other in ((star, bad[0]), (net, bad[1]))]
    assert separated_dynamics(star, net, x).verdict is Verdict.HOLDS
    assert separated_dynamics(*nets, x).verdict is Verdict.NOT_APPLICABLE
    assert separated_expectations(*nets, torch.cat([x] * 4), nodes=8).verdict is Verdict.REFUTED


def test_bad_arguments_are_named():
    star, net, x = random_pair()
    for check in (separated_expectations, separated_dynamics):
        with pytest.raises(UserError, match="nodes=0"):
            check(star, net, x, nodes=0)
        with pytest.raises(UserError, match="must agree"):
            check(star, net, x[:, :3])
