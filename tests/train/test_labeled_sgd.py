"""SGD on labeled data: passes over the points, logistic loss, residual networks; compared with plain PyTorch."""

import pytest
import torch
from torch.nn.functional import softplus

from relulab.core.errors import UserError
from relulab.core.seeds import Role, stream
from relulab.data.labeled_task import LabeledTask
from relulab.nets.initial import residual_default, torch_default
from relulab.nets.residual import Residual
from relulab.subjects.bias.tools.orthants import OppositeOrthants
from relulab.train.losses import Logistic
from relulab.train.sgd import sgd

SEEDS = (0, 5)


def task(dtype=torch.float64, n=20):
    return LabeledTask([OppositeOrthants(4).draw(stream(0, Role.TRAIN, s), n) for s in SEEDS], seeds=SEEDS, dtype=dtype)


def plain(weights, x):
    """The residual network of IB eq. 30; with two weights a two-layer network."""
    f = x @ weights[0]
    for W in weights[1:-1]:
        f = f + f.relu() @ W
    return (f.relu() @ weights[-1])[:, 0]


@pytest.mark.parametrize("make", [
    lambda: torch_default((4, 7, 1), SEEDS, factor=0.5, bias=False, dtype=torch.float64),
    lambda: residual_default((4, 7, 1), SEEDS, depth=4, factor=0.5, dtype=torch.float64),
], ids=["two layers", "residual"])  # fmt: skip
def test_sgd_is_a_plain_loop_over_shuffled_batches(make):
    net, supply = make(), task()
    sgd(net, supply, epochs=3, steps=4, batch=5, lr=0.3)
    for lane, seed in enumerate(SEEDS):
        weights = [W.data[lane].clone().requires_grad_() for W in make().W]
        X, y, _ = supply.data[lane]
        for epoch in range(3):
            for rows in stream(0, Role.BATCHES, seed, epoch).permutation(20).reshape(4, 5):
                loss = softplus(-y[rows] * plain(weights, X[rows])).mean()
                for W, g in zip(weights, torch.autograd.grad(loss, weights), strict=True):
                    W.data -= 0.3 * g
        for W, mine in zip(weights, net.W, strict=True):
            torch.testing.assert_close(mine.data[lane], W.detach(), rtol=1e-11, atol=1e-13)


def test_factor_scales_the_start():
    one, small = (torch_default((4, 7, 1), SEEDS, factor=f, dtype=torch.float64) for f in (1.0, 0.05))
    for a, b in zip(one.parameters(), small.parameters(), strict=True):
        torch.testing.assert_close(0.05 * a.data, b.data)


def test_the_logistic_loss():
    f = torch.tensor([[[0.5], [-2.0], [30.0]]], dtype=torch.float64, requires_grad=True)
    y = torch.tensor([[[1.0], [1.0], [-1.0]]], dtype=torch.float64)
    value = Logistic().value(f, y)
    (g,) = torch.autograd.grad(value.sum(), f)
    r = f.detach().clone()
    Logistic().residual_(r, y)
    torch.testing.assert_close(r / 3, g)


def test_wrong_arguments_are_refused():
    with pytest.raises(UserError, match="expected at most 4 batches of 5 in one pass over 20 points, got 5"):
        task().batches(0, 5, 5)
    with pytest.raises(UserError, match="with 2 different shapes"):
        LabeledTask([OppositeOrthants(d).draw(stream(0, Role.TRAIN, 0), 8) for d in (3, 4)], seeds=SEEDS)
    with pytest.raises(UserError, match=r"a depth of at least 2, got .* depth=1"):
        Residual((3, 4, 1), depth=1)
    with pytest.raises(UserError, match=r"as many inputs as the task \(4\), got 3: change the first width"):
        sgd(residual_default((3, 4, 1), SEEDS, depth=3, dtype=torch.float64), task(), epochs=1, steps=4, batch=5)
