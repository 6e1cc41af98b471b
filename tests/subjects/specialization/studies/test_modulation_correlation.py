"""S0 figures 4 and 12: units against a naive measurement, and claims on results with a known answer."""

import numpy as np
import pytest
import torch
import xarray as xr
from torch import nn

import relulab as rl
from relulab import Verdict
from relulab.lab.run.answers import claims_of
from relulab.subjects.specialization.studies.modulation_correlation.study import KINDS, ModulationCorrelation


def configured(preset: str = "quick", **changes) -> ModulationCorrelation:
    found = ModulationCorrelation.configured(preset, changes)
    assert isinstance(found, ModulationCorrelation)
    return found


def naive_modulation(net: nn.Sequential, l: int, x: torch.Tensor) -> np.ndarray:
    """√E‖∂f_L/∂f_k‖² of the nodes of hidden layer l, by the Jacobian at every point."""
    below, above = net[: 2 * l + 2], net[2 * l + 2 :]
    squares = [torch.autograd.functional.jacobian(above, below(point)).square().sum(0) for point in x]
    return torch.stack(squares).mean(0).sqrt().detach().numpy()


def test_a_unit_stores_what_a_naive_measurement_finds():
    study = configured("smoke", n_train=40, batch=10)
    unit = study.units()[-1]
    assert unit.values["kind"] == "uniform"
    data = study.measure(unit, lambda steps: None).squeeze("inputs")
    task = study.task(unit.values["seeds"], study.n_train, rl.Uniform(study.d, study.half), fresh=True)
    net, (x, _) = study.students(task, study.over).module(0), task.held_out().of_lane(0)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.2)
    for epoch in range(study.epochs + 1):
        if epoch:
            optimizer.param_groups[0]["lr"] = 0.2 if epoch - 1 < study.later_from else 0.1
            X, Y = task.train(epoch - 1).of_lane(0)
            for batch in task.batches(epoch - 1, 4, 10)[0]:
                optimizer.zero_grad()
                nn.MSELoss()(net(X[batch]), Y[batch]).backward()
                optimizer.step()
        if epoch not in (0, 5, 10):
            continue
        for l in range(2):
            stored = data.isel(seed=0).sel(layer=l, epoch=epoch)
            n = study.over * study.hidden[l]
            assert int(stored.modulation.notnull().sum()) == int(stored.specialized.notnull().sum()) == n
            expected = naive_modulation(net, l, x[: study.n_modulation])
            np.testing.assert_allclose(stored.modulation.values[:n], expected, rtol=1e-3, atol=1e-6)
            a = task.teacher.lane(0).layers(x.double())[l][0].detach().numpy()
            b = net[: 2 * l + 2](x).detach().numpy()
            with np.errstate(invalid="ignore"):  # nodes that are never active
                rho = np.nan_to_num(np.corrcoef(a.T, b.T)[: a.shape[1], a.shape[1] :])
            np.testing.assert_allclose(stored.specialized.values[:n], rho.max(0), atol=1e-3)
            assert float(stored.rho_mean) == pytest.approx(rho.max(1).mean(), abs=1e-3)


def made_up(
    study: ModulationCorrelation, *, shape: float = 1.0, corner: bool = False, first: float = 0.8
) -> xr.Dataset:
    """Six seeds: the L of every layer is as strict as ``shape``, and in layer 0 earlier by ``first``."""
    rng, epochs, n = np.random.default_rng(0), study.looks(), 30
    rho = np.linspace(0, 1, n) ** 0.3 * np.ones((2, 6, 3, len(epochs), 1))
    behind = np.array([first < 0, first > 0, first > 0])[:, None]
    delay = abs(first) * behind * (np.array(epochs) == epochs[1])
    strict = shape * (np.array(epochs) > 0) * (1 - delay)
    modulation = 10 ** (3 * strict[..., None] * (rho - 1)) * (1 + 0.05 * rng.standard_normal(rho.shape))
    noise = np.where((np.array(epochs) == 0)[:, None], 1.0, 3 * delay[..., None])
    modulation = modulation * 10 ** (noise * rng.standard_normal(rho.shape))
    if corner:
        modulation[..., 0] = 100
    mean = 0.2 + 0.799 * (np.array(epochs) > 0) * (1 - delay) * np.ones((2, 6, 3, len(epochs)))
    dims = ("inputs", "seed", "layer", "epoch", "student")
    data = {"specialized": (dims, rho), "modulation": (dims, modulation), "rho_mean": (dims[:-1], mean)}
    coords = {"inputs": list(KINDS), "seed": range(6), "layer": range(3), "epoch": list(epochs), "student": range(n)}
    return xr.Dataset(data, coords).assign(loss=(("inputs", "epoch", "seed"), np.ones((2, len(epochs), 6))))


def verdicts(study: ModulationCorrelation, result: xr.Dataset) -> dict[str, Verdict]:
    return {claim.id: claim.verdict for claim in study.claims(result)}


def test_claims_hold_where_they_should_and_not_otherwise():
    study = configured("paper", seeds=6)
    claims = claims_of(study, made_up(study))
    assert {c.id: c.verdict for c in claims} == dict.fromkeys((c.id for c in claims), Verdict.HOLDS)
    assert len(claims) == 2 * 3 + 5
    assert all(c.control is not None and c.control.verdict is not Verdict.HOLDS for c in claims)
    reverse = verdicts(study, made_up(study, shape=-1))
    assert all(reverse[f"S0.F4.{name}-{l}"] is Verdict.REFUTED for name in ("follow", "corner") for l in range(3))
    late = verdicts(study, made_up(study, first=-0.8))
    assert late["S0.F4.first"] is late["S0.F4.rise"] is Verdict.REFUTED


def test_one_large_node_that_follows_none_refutes_the_corner_only():
    study = configured("paper", seeds=6)
    found = verdicts(study, made_up(study, corner=True))
    assert all(found[f"S0.F4.corner-{l}"] is Verdict.REFUTED for l in range(3))
    assert all(found[f"S0.F4.follow-{l}"] is Verdict.HOLDS for l in range(3))


def test_the_printed_number_is_judged_at_the_size_of_the_paper_only():
    small, paper = configured(), configured("paper", seeds=6)
    assert not small.published() and paper.published()
    assert verdicts(small, made_up(small))["S0.F12.all"] is Verdict.NOT_JUDGED
    below = made_up(paper)
    below["rho_mean"] = below.rho_mean.where(below.layer != 1, 0.99)
    assert verdicts(paper, below)["S0.F12.all"] is Verdict.REFUTED


def test_a_seed_that_diverged_leaves_its_claims_undecided():
    study = configured("paper", seeds=6)
    result = made_up(study)
    result["loss"] = result.loss.where((result.seed != 2) | (result.inputs != "uniform"))
    assert set(verdicts(study, result).values()) == {Verdict.INCONCLUSIVE}


def test_looks_are_at_the_same_shares_of_the_training():
    assert configured("paper").looks() == (0, 10, 25, 50, 75, 100)
    assert configured("smoke").looks()[1] == 1
    with pytest.raises(rl.UserError, match="reduce it"):
        configured("smoke", n_modulation=1000)
