"""Mean dynamics: gradient descent without separation, fixed points, and the order of the steps."""

import numpy as np
import pytest
import torch

import relulab as rl
from relulab import UserError
from relulab.subjects.specialization import mean_dynamics
from relulab.subjects.specialization.tools.mean_dynamics import flat_weights, with_weights
from relulab.subjects.specialization.tools.separable_pairs import mirrored_pair, open_pair


def networks(bias: bool = True, lanes: int = 2) -> tuple[rl.MLP, rl.MLP]:
    nets = (rl.torch_default(w, range(k, k + lanes), bias=bias, dtype=torch.float64)
            for k, w in ((3, (4, 3, 5, 2)), (0, (4, 6, 4, 2))))  # fmt: skip
    return tuple(nets)


def inputs(*shape: int) -> torch.Tensor:
    return torch.from_numpy(np.random.default_rng(1).standard_normal(shape))


@pytest.mark.parametrize("bias", [True, False])
def test_without_separation_it_is_gradient_descent(bias):
    star, net = networks(bias)
    x = inputs(2, 30, 4)
    path = mean_dynamics(star, net, x, time=1.0, steps=8, looks=3, separated=False)
    expected = [p.data.clone() for p in (*net.W, *net.b)]
    optimizer = torch.optim.SGD([p for p in net.parameters() if p.requires_grad], lr=1 / 8)
    losses = []
    for _ in range(9):
        loss = 0.5 * (net(x) - star(x)).square().sum(-1).mean(-1)
        losses.append(loss.detach())
        optimizer.zero_grad()
        loss.sum().backward()
        end = flat_weights(net)
        optimizer.step()
    torch.testing.assert_close(path["weights"][0], torch.cat([p.flatten(1) for p in expected], 1))
    torch.testing.assert_close(path.end, end)
    torch.testing.assert_close(path["loss"], torch.stack([losses[i] for i in (0, 4, 8)]))
    assert path.times.tolist() == [0, 0.5, 1]


@pytest.mark.parametrize("make", [open_pair, mirrored_pair])
def test_where_expectations_separate_both_dynamics_start_alike(make):
    star, net, x = make(np.random.default_rng(0))
    one, two = (mean_dynamics(star, net, x, time=1e-3, steps=1, separated=s).end for s in (True, False))
    torch.testing.assert_close(one, two, rtol=1e-12, atol=1e-15)
    assert not torch.equal(one, flat_weights(net))


def test_a_student_that_equals_its_teacher_stays():
    star, _ = networks()
    path = mean_dynamics(star, star, inputs(40, 4), time=1.0, steps=20)
    torch.testing.assert_close(path.end, flat_weights(star), rtol=0, atol=1e-14)


def test_halving_the_step_halves_the_error():
    """Euler's method, before gates change at single points, which the velocity jumps at."""
    star, net = networks(lanes=1)
    x = inputs(500, 4)
    ends = [mean_dynamics(star, net, x, time=0.5, steps=n).end for n in (8, 16, 256)]
    errors = [float((end - ends[-1]).norm()) for end in ends[:2]]
    assert 1.6 < errors[0] / errors[1] < 2.6


def test_students_are_not_changed_and_lanes_do_not_mix():
    star, net = networks()
    x, before = inputs(30, 4), flat_weights(net).clone()
    both = mean_dynamics(star, net, x, time=0.5, steps=4).end
    assert torch.equal(flat_weights(net), before)
    for lane in range(2):
        alone = mean_dynamics(star.lane(lane), net.lane(lane), x, time=0.5, steps=4).end
        torch.testing.assert_close(both[lane], alone[0])


def test_weights_come_back_as_networks():
    star, _ = networks()
    torch.testing.assert_close(
        with_weights(rl.MLP((4, 3, 5, 2), lanes=2), flat_weights(star))(inputs(5, 4)), star(inputs(5, 4))
    )


def test_bad_arguments_are_named():
    star, net = networks()
    with pytest.raises(UserError, match="time"):
        mean_dynamics(star, net, inputs(5, 4), time=0, steps=4)
    with pytest.raises(UserError, match="same inputs, outputs and number of layers"):
        mean_dynamics(rl.torch_default((4, 3, 2), [0]), net, inputs(5, 4), time=1, steps=4)
    with pytest.raises(UserError, match="at least one point"):
        mean_dynamics(star, net, inputs(0, 4), time=1, steps=4)
