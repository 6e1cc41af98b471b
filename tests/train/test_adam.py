"""Adam on the binary cross-entropy, compared with an explicit implementation."""

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn.functional import binary_cross_entropy_with_logits

from relulab import UserError
from relulab.core.seeds import Role, stream
from relulab.data.tensor_task import TensorTask
from relulab.subjects.bias.studies.digit_features.measures import accuracy
from relulab.subjects.bias.studies.digit_features.measures import cross_entropy as entropy
from relulab.train.fit import fit
from relulab.train.optimizers import Adam

N, D, BATCH, EPOCHS, LR = 11, 3, 4, 5, 0.03
RNG = np.random.default_rng(0)
X, Y = RNG.standard_normal((N, D)), (RNG.random(N) > 0.5).astype(float)
W0 = RNG.standard_normal(D)


def order(epoch: int) -> np.ndarray:
    return stream(0, Role.BATCHES, 3, epoch).permutation(N)


def line() -> nn.Linear:
    net = nn.Linear(D, 1, bias=False, dtype=torch.float64)
    net.weight.data[0] = torch.from_numpy(W0)
    return net


def cross_entropy(z, y):
    return np.mean(
        [-np.log(1 / (1 + np.exp(-s))) if t else -np.log(1 - 1 / (1 + np.exp(-s))) for s, t in zip(z, y, strict=True)]
    )


def test_against_the_method_written_out():
    w, m, v, t, fits = W0.copy(), np.zeros(D), np.zeros(D), 0, []
    for epoch in range(EPOCHS):
        losses, right = 0.0, 0
        for i in range(0, N, BATCH):
            x, y = X[order(epoch)[i : i + BATCH]], Y[order(epoch)[i : i + BATCH]]
            z = x @ w
            losses, right = losses + len(y) * cross_entropy(z, y), right + sum((z > 0) == (y == 1))
            g = x.T @ (1 / (1 + np.exp(-z)) - y) / len(y)
            t += 1
            m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g**2
            w = w - LR * (m / (1 - 0.9**t)) / (np.sqrt(v / (1 - 0.999**t)) + 1e-8)
        fits.append((losses / N, right / N))
    net, ticks = line(), []
    x, y = torch.from_numpy(X), torch.from_numpy(Y)
    recorded = fit(
        net, TensorTask(x, y, seed=3), epochs=EPOCHS, batch=BATCH, optimizer=Adam(LR), tick=ticks.append,
        loss=lambda z, y: binary_cross_entropy_with_logits(z[:, 0], y), meters={"loss": entropy, "right": accuracy},
    )  # fmt: skip
    np.testing.assert_allclose(net.weight.detach().numpy()[0], w, rtol=1e-10)
    np.testing.assert_allclose(np.stack([recorded.loss, recorded.right], 1), fits, rtol=1e-10)
    assert recorded.epoch.values.tolist() == list(range(1, EPOCHS + 1))
    assert sum(ticks) == 3 * EPOCHS


@pytest.mark.parametrize("wrong", [{"epochs": -1}, {"batch": 0}])
def test_sizes_must_be_positive(wrong):
    with pytest.raises(
        UserError, match="expected steps and batch of at least 1 and epochs and first_epoch of at least 0"
    ):
        fit(line(), (torch.from_numpy(X), torch.from_numpy(Y)), **({"epochs": 1} | wrong))


@pytest.mark.parametrize(
    "wrong", [{"lr": 0.0}, {"betas": (1.0, 0.9)}, {"eps": -1.0}, {"weight_decay": -0.1}, {"lr": float("nan")}]
)
def test_impossible_adam(wrong):
    with pytest.raises(UserError, match=next(iter(wrong))):
        Adam(**wrong)
