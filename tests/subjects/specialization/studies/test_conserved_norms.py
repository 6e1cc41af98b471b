"""The study of norms before BatchNorm: slopes of known drifts, and that arms are what they say."""

import numpy as np
import pytest
import torch
import xarray as xr
from torch import nn

from relulab import find_study
from relulab.subjects.specialization.studies.conserved_norms.claims import remaining, slopes
from relulab.subjects.specialization.studies.conserved_norms.measures import NETWORKS, arms, followed, problem

STEPS = np.array([10, 20, 40])


def of_drift(drift) -> xr.Dataset:
    values = np.broadcast_to(drift, (2, 3, 1, 3))
    coords = {"seed": [0, 1], "network": list(NETWORKS), "arm": ["before"], "steps": STEPS}
    return xr.Dataset({"drift": (tuple(coords), values)}, coords=coords)


def test_slopes_and_limits_of_known_drifts():
    first, constant = of_drift(3.0 / STEPS), of_drift(0.25 + 0 * STEPS)
    np.testing.assert_allclose(slopes(first, "before", 2.0), 1.0)
    np.testing.assert_allclose(slopes(constant, "before", 2.0), 0.0, atol=1e-12)
    np.testing.assert_allclose(remaining(first, "before"), 0.0, atol=1e-12)
    np.testing.assert_allclose(remaining(constant, "before"), 1.0)
    np.testing.assert_allclose(remaining(of_drift(0.1 + 1 / STEPS), "before"), 0.1 / 0.2)


@pytest.mark.parametrize("network", NETWORKS)
def test_all_orders_start_with_the_same_weights(network):
    start, x, y = problem(network, 4, 5, 2, 32, 3, 0)
    weights = [
        [m.weight for m in start(order) if isinstance(m, nn.Linear | nn.Conv2d)]
        for order in ("before the ReLU", "after the ReLU", "no BatchNorm")
    ]
    assert all(torch.equal(a, b) for a, *others in zip(*weights, strict=True) for b in others)
    torch.testing.assert_close(y.mean(0), torch.zeros(2).double())
    assert len(x) == len(y) == (4 if network == "two convolutions" else 32)


def test_a_path_by_plain_pytorch():
    """Drift, turning and loss of an optimizer of PyTorch, with weight decay and BatchNorm's own ε."""
    start, x, y = problem("one hidden layer", 4, 5, 2, 32, 0, 0)
    arm, steps = arms(0.1, 0.2)["weight decay"], 7
    net = start(arm.order)
    found = followed(net, arm, x, y, 0.5, steps)
    w = net[0].weight.detach().clone()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.5 / steps, weight_decay=0.2)
    for _ in range(steps):
        optimizer.zero_grad()
        (0.5 * (net(x) - y).square().sum(1).mean()).backward()
        optimizer.step()
    after = net[0].weight.detach()
    assert found["drift"] == pytest.approx(float((after.norm(dim=1) / w.norm(dim=1) - 1).abs().mean()), rel=1e-9)
    angles = torch.nn.functional.cosine_similarity(w, after).arccos()
    assert found["turned"] == pytest.approx(float(angles.mean()), rel=1e-6)
    loss = 0.5 * (net(x) - y).square().sum(1).mean()
    assert found["loss"] == pytest.approx(loss.item(), rel=1e-9)


def test_stored_statistics_are_those_of_the_batch():
    start, x, y = problem("one hidden layer", 4, 5, 2, 400, 0, 0)
    named = arms(0.1, 0.2)
    moving, stored = (followed(start("before the ReLU"), named[name], x, y, 1e-9, 1) for name in ("before", "stored"))
    assert stored["loss"] == pytest.approx(moving["loss"], rel=0.01)  # the same function at the start


def test_estimates_grow_with_the_size():
    study = find_study("LM.T3.drift")
    small, large = (sum(u.flops for u in study.configured("quick", {"width": w}).units()) for w in (20, 200))
    assert large > 2 * small > 0
