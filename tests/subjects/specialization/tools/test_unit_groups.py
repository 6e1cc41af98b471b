"""Units of B that match those of A: each, together, one-to-one; against correlations and least squares in NumPy."""

import numpy as np
import pytest
import torch
from deep_networks import made
from torch import nn

from relulab import UserError, hidden, torch_default
from relulab.subjects.specialization import match
from relulab.subjects.specialization.tools import unit_groups
from relulab.subjects.specialization.tools.matching import one_to_one


def split_copy() -> tuple[nn.Sequential, nn.Sequential, torch.Tensor]:
    """B has unit 0 of A twice at other scales, unit 1 as the sum of two opposite parts, and unit 2 not at all."""
    torch.manual_seed(0)
    a, b = (nn.Sequential(nn.Linear(4, n), nn.ReLU(), nn.Linear(n, 2)).double() for n in (3, 5))
    with torch.no_grad():
        b[0].weight[:2], b[0].bias[:2] = (
            a[0].weight[0] * torch.tensor([[1.0], [3.0]]),
            a[0].bias[0] * torch.tensor([1, 3]),
        )
        b[0].weight[4], b[0].bias[4] = 0, -1.0  # dead
        a[0].weight[2], a[0].bias[2] = 0, 1.0  # constant
    return a, b, torch.randn(400, 4).double()


def test_units_that_match_each():
    a, b, x = split_copy()
    zero, one, two = match(a, b, x)["1"]
    assert zero.each == (0, 1) and zero.each_rho == pytest.approx((1, 1)) and zero.partner in (0, 1)
    assert zero.together in ((0,), (1,)) and zero.together_rho == pytest.approx(1)
    assert two.best is None and two.together == () == two.each and two.together_rho == 0 == two.rho
    assert 4 not in (*one.each, *one.together) and one.unit == 1


def test_units_that_match_together():
    """A unit of A is a combination of three units of B, which are below the threshold each."""
    torch.manual_seed(1)
    x = torch.randn(2000, 6).double()
    b = nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 1)).double()
    f = b[:2](x).detach()
    y = f[:, [1, 4, 6]] @ torch.tensor([1.0, -1.5, 2.0]).double()

    class Sum(nn.Module):
        def __init__(self):
            super().__init__()
            self.relu = nn.ReLU()

        def forward(self, x):
            g = b[:2](x)[:, [1, 4, 6]] @ torch.tensor([[1.0], [-1.5], [2.0]]).double()
            return self.relu(g + 100) * 1  # a ReLU that is always active, so that the sum is a unit

    (found,) = match(Sum(), b, x, threshold=0.999)["1"]
    assert sorted(found.together) == [1, 4, 6] and found.together_rho == pytest.approx(1) and not found.each
    rho = np.corrcoef(np.c_[y.numpy(), f.numpy()].T)[0, 1:]
    assert (found.best, found.rho) == (int(rho.argmax()), pytest.approx(rho.max()))
    (fewer,) = match(Sum(), b, x, threshold=0.999, most=2)["1"]
    assert len(fewer.together) == 2 and rho.max() < fewer.together_rho < 0.999


def test_everything_against_numpy(monkeypatch):
    monkeypatch.setattr(unit_groups, "CHUNK", 64)
    a, b = (torch_default((5, n, n - 2, 3), seeds=[s], dtype=torch.float64) for s, n in ((0, 7), (1, 9)))
    x = torch.randn(300, 5).double()
    found = match(a, b, x, threshold=0.97, most=3)
    for matches, f_a, f_b in zip(found.values(), hidden(a, x).values(), hidden(b, x).values(), strict=True):
        f_a, f_b = f_a[0].numpy(), f_b[0].numpy()
        with np.errstate(invalid="ignore"):  # dead units
            rho = np.nan_to_num(np.corrcoef(np.c_[f_a, f_b].T)[: f_a.shape[1], f_a.shape[1] :])
        partner = one_to_one(torch.from_numpy(rho)).tolist()
        even = np.arange(300) % 64 % 2 == 0
        for m in matches:
            if m.best is None:
                continue
            assert (m.best, m.partner) == (rho[m.unit].argmax(), partner[m.unit])
            assert m.rho == pytest.approx(rho[m.unit].max()) and m.partner_rho == pytest.approx(rho[m.unit, m.partner])
            each = [k for k in np.argsort(-rho[m.unit]) if rho[m.unit, k] >= 0.97 and rho[:, k].argmax() == m.unit]
            assert list(m.each) == each
            chosen, y = [], f_a[even, m.unit]
            while len(chosen) < 3 and (not chosen or multiple(f_b[even][:, chosen], y) < 0.97):
                chosen.append(
                    max(set(range(f_b.shape[1])) - {*chosen}, key=lambda k: multiple(f_b[even][:, [*chosen, k]], y))
                )
            assert list(m.together) == chosen
            A = np.c_[f_b[even][:, chosen], np.ones(even.sum())]
            fit = f_b[~even][:, chosen] @ np.linalg.lstsq(A, y, rcond=None)[0][:-1]
            assert m.together_rho == pytest.approx(np.corrcoef(fit, f_a[~even, m.unit])[0, 1], abs=1e-9)


def multiple(f, y) -> float:
    A = np.c_[f, np.ones(len(f))]
    residual = y - A @ np.linalg.lstsq(A, y, rcond=None)[0]
    return float(np.sqrt(max(0, 1 - (residual**2).sum() / ((y - y.mean()) ** 2).sum())))


def test_channels_of_convolutions_and_any_order():
    net, x = made("convolutional")
    other, _ = made("convolutional")
    order = torch.tensor([2, 0, 3, 1])
    with torch.no_grad():
        other[5].weight.copy_(net[5].weight[order])
        other[5].bias.copy_(net[5].bias[order])
    found = match(net, other, x, layers=[("6", "6")])["6:6"]
    assert [m.partner for m in found] == order.argsort().tolist() == [m.together[0] for m in found]


@pytest.mark.parametrize("change, message", [
    ({"threshold": 1.0}, "between 0 and 1"), ({"most": 0}, "most"), ({"x": torch.randn(7, 5)}, "at least 8"),
    ({"a": torch_default((5, 4, 2), seeds=[0, 1])}, "2 lanes"), ({"layers": [("1", "9")]}, "no hidden layer '9'"),
    ({"b": torch_default((5, 4, 4, 2), seeds=[0])}, "as many hidden layers"),
])  # fmt: skip
def test_mistakes_are_one_sentence(change, message):
    net = torch_default((5, 4, 2), seeds=[0])
    given = {"a": net, "b": net, "x": torch.randn(20, 5)} | change
    with pytest.raises(UserError, match=message):
        match(given.pop("a"), given.pop("b"), given.pop("x"), **given)
