"""Large products in single precision: right on any processor, and used only where they are large."""

import pytest
import torch

import relulab as rl
from relulab.core import products
from relulab.core.products import SMALLEST, is_large

BATCH, WIDTHS = 64, (40, 250, 240, 3)  # the middle layer is large


def drawn(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def test_the_rule_looks_at_size_type_and_processor(monkeypatch):
    monkeypatch.setattr(products, "has_faster_products", lambda: True)
    side = int(SMALLEST ** (1 / 3)) + 2
    assert is_large(side, side, side, torch.zeros(1)) and not is_large(side, side, 1, torch.zeros(1))
    assert not is_large(side, side, side, torch.zeros(1, dtype=torch.float64))
    assert not is_large(side, side, side, torch.zeros(1, device="meta"))
    monkeypatch.setattr(products, "has_faster_products", lambda: False)
    assert not is_large(side, side, side, torch.zeros(1))


@pytest.mark.skipif(not hasattr(torch.ops.mkldnn, "_linear_pointwise"), reason="this PyTorch has no oneDNN")
@pytest.mark.parametrize("transposed", [(False, False), (True, False), (False, True), (True, True)])
def test_products_of_matrices_in_any_layout(transposed):
    shapes = [(2, 70, 30), (2, 30, 50)]
    a, b = (
        drawn(*(s[0], s[2], s[1]), seed=i).mT if t else drawn(*s, seed=i)
        for i, (s, t) in enumerate(zip(shapes, transposed, strict=True))
    )
    c = drawn(2, 1, 50, seed=3)
    exact = a.double() @ b.double()
    bound = 30 * torch.finfo(torch.float32).eps * (a.abs().double() @ b.abs().double() + c.abs())
    for made, whole, row in zip(products.products(a, b, c), exact, c, strict=True):
        assert bool(((made - (whole + row)).abs() <= bound.amax()).all())
    for made, whole in zip(products.products(a, b), exact, strict=True):
        assert bool(((made - whole).abs() <= bound.amax()).all())


def trained(faster: bool, monkeypatch, **options) -> rl.MLP:
    monkeypatch.setattr(products, "has_faster_products", lambda: faster)
    net = rl.torch_default(WIDTHS, [0, 1])
    task = rl.Task(rl.specialization.luck_teacher((40, 5, 3), seeds=[0, 1]), rl.Gaussian(40), seeds=[0, 1])
    rl.fit(net, task, epochs=1, steps=5, batch=BATCH, **options)
    return net


@pytest.mark.skipif(not hasattr(torch.ops.mkldnn, "_linear_pointwise"), reason="this PyTorch has no oneDNN")
@pytest.mark.parametrize("optimizer", [rl.SGD(0.05), rl.SGD(0.05, weight_decay=0.1), rl.SGD([0.05, 0.02])])
def test_training_is_the_same_to_rounding(optimizer, monkeypatch):
    calls = []
    monkeypatch.setattr("relulab.train.step.products", lambda *a: calls.append(1) or products.products(*a))
    fast = trained(True, monkeypatch, optimizer=optimizer)
    assert calls  # otherwise the two are the same code
    calls.clear()
    slow = trained(False, monkeypatch, optimizer=optimizer)
    assert not calls
    start = rl.torch_default(WIDTHS, [0, 1])
    for p, q, s in zip(
        fast.state_dict().values(), slow.state_dict().values(), start.state_dict().values(), strict=True
    ):
        moved = float((q - s).abs().max())
        assert moved > 1e-3 and float((p - q).abs().max()) < 1e-4 * moved
