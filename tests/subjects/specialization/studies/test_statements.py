"""Claims of the two-layer studies on synthetic results: true claims hold, and the opposite is refuted."""

import numpy as np
import pytest
import torch
import xarray as xr

from relulab import find_study, torch_default
from relulab.subjects.specialization.studies.fan_out_correlation.measures import lost_share, some_of

SEEDS, NOISE = 6, 1e-3


def noise(*shape: int) -> np.ndarray:
    return np.random.default_rng(0).normal(scale=NOISE, size=shape)


def verdicts(study, result: xr.Dataset) -> dict[str, str]:
    return {c.id: c.verdict.name for c in study.claims(result)}


def recovery_result(study, sign: int) -> xr.Dataset:
    """More nodes are recovered as width grows and as p falls, strong ones first; the opposite with sign −1."""
    over, p, node = np.array(study.over), np.array(study.polarity), np.arange(1, study.m + 1)
    reach = 0.7 * study.m + sign * (2 * over[:, None] - 2 * p)
    best = 0.96 * (node <= reach[..., None]) + sign * 0.01 * (study.m - node) / study.m
    loss = 10.0 ** (-1 - sign * 0.1 * over[:, None] * p)
    shape = (SEEDS, len(over), 1, len(p))
    data = {
        "best": (("seed", "over", "epoch", "polarity", "node"), best[None, :, None] + noise(*shape, study.m)),
        "loss": (("seed", "over", "epoch", "polarity"), loss[None, :, None] * (1 + noise(*shape))),
        "strength": (("over", "seed", "polarity", "node"), np.broadcast_to(
            node ** -np.maximum(p, 0.1)[:, None], (len(over), SEEDS, len(p), study.m))),
    }  # fmt: skip
    one = xr.Dataset(data, coords={"over": over, "polarity": p, "node": node, "seed": range(SEEDS), "epoch": [5]})
    return xr.concat([one.assign_coords(epoch=[e]) for e in study.looks()], "epoch", data_vars="minimal")


@pytest.fixture
def recovery():
    return find_study("SS.F7").configured("paper", {"seeds": SEEDS})


def test_recovery_claims_hold_where_they_are_true(recovery):
    by_id = verdicts(recovery, recovery_result(recovery, 1))
    # Width lowers the loss in every seed at every p, so shares of seeds cannot show where it helps more.
    assert by_id.pop("S0.F11.polarity-gap") == "INCONCLUSIVE" and set(by_id.values()) == {"HOLDS"}


def test_recovery_claims_are_refuted_where_the_opposite_is_true(recovery):
    by_id = verdicts(recovery, recovery_result(recovery, -1))
    assert by_id.pop("S0.F11.polarity-gap") == "INCONCLUSIVE" and set(by_id.values()) == {"REFUTED"}


@pytest.mark.parametrize("sign, gap, everywhere", [(1, "HOLDS", "REFUTED"), (-1, "REFUTED", "HOLDS")])
def test_width_that_helps_some_teachers_only(recovery, sign, gap, everywhere):
    result = recovery_result(recovery, 1)
    narrow = (result.over == min(recovery.over)) & (result.polarity == (0.5 if sign > 0 else 2.5))
    result["loss"] = result.loss.where(~narrow, 1e-12)
    by_id = verdicts(recovery, result)
    assert by_id["S0.F11.polarity-gap"] == gap and by_id["S0.F11.width-loss-everywhere"] == everywhere


def test_a_few_students_that_miss_a_node_decide_the_mean_loss_but_not_the_share_of_seeds(recovery):
    result = recovery_result(recovery, 1)
    narrow = (result.over == min(recovery.over)) & (result.polarity == 0.5)
    lucky = xr.where(result.seed == 0, 10.0, 1e-12)
    result["loss"] = result.loss.where(~narrow, lucky)
    everywhere = {c.id: c for c in recovery.claims(result)}["S0.F11.width-loss-everywhere"]
    assert everywhere.verdict.name == "INCONCLUSIVE" and everywhere.note.count("By another statistic") == 2
    assert "depends on the statistic" in everywhere.note


@pytest.mark.parametrize("id, make", [("SS.F7", recovery_result), ("SS.F8", lambda *a: order_result(*a)),
                                      ("SS.F5", lambda *a: fan_out_result(*a))])  # fmt: skip
def test_controls_of_true_claims_do_not_hold(id, make):
    study = find_study(id).configured("paper", {"seeds": SEEDS})
    result = make(study, 1)
    if id == "SS.F7":  # the start of training
        start = {name: result[name].sel(epoch=0) * 0 + 0.1 for name in ("best", "loss")}
        result = result.assign({n: result[n].where(result.epoch > 0, start[n]) for n in start})
    claims, covered = study.claims(result), set()
    for control in study.controls(result):
        judged = {c.id: c for c in study.claims(control.result) if control.covers(c) and c.id not in covered}
        assert not [id for id, c in judged.items() if c.verdict.name == "HOLDS"], control.name
        covered |= judged.keys()
    assert covered == {c.id for c in claims}


@pytest.mark.parametrize("changes, ids", [
    ({"polarity": [0]}, {"SS.F7.short-of-5x"}),
    ({"polarity": [1]}, {"SS.F7.strong-first", "SS.F7.width-weak", "SS.F7.short-of-5x", "S0.F11.width-loss"}),
    ({"over": [5]}, {"SS.F7.strong-first", "SS.F7.polarized-harder"}),
])  # fmt: skip
def test_comparisons_of_a_value_with_itself_are_left_out(changes, ids):
    study = find_study("SS.F7").configured("paper", {"seeds": SEEDS, **changes})
    assert set(verdicts(study, recovery_result(study, 1))) == ids


def test_without_1x_students_there_is_no_claim_about_them(recovery):
    without = recovery.model_copy(update={"over": (2, 5)})
    ids = verdicts(without, recovery_result(recovery, 1).sel(over=[2, 5]))
    assert "SS.F7.short-of-5x" not in ids and "SS.F7.width-weak" in ids


def order_result(study, sign: int) -> xr.Dataset:
    """Node j is recovered after epoch j (or m + 1 − j), and students end at weaker (or stronger) nodes."""
    m, n, epochs = study.m, 5 * study.m, np.arange(study.epochs + 1)
    node = np.arange(1, m + 1)
    when = node if sign > 0 else m + 1 - node
    best = np.where(epochs[:, None] >= when, 0.99, 0.1)
    start = np.full(n, m / 2)
    favorite = start + np.where(epochs == epochs[-1], sign * 3, 0)[:, None] * np.arange(n) / n
    shape, p = (SEEDS, 1, len(study.polarity)), study.polarity
    full = {
        "best": ("node", best), "followers": ("node", np.broadcast_to(-sign * node, best.shape)),
        "favorite": ("student", favorite),
    }  # fmt: skip
    dims = ("seed", "over", "polarity", "epoch")
    data = {
        name: ((*dims, last), np.broadcast_to(a, (*shape, *a.shape)) + noise(*shape, *a.shape))
        for name, (last, a) in full.items()
    }
    data["loss"] = (dims, np.ones((*shape, len(epochs))))
    data["strength"] = ((*dims[:3], "node"), np.broadcast_to(1 / node, (*shape, m)))
    return xr.Dataset(
        data, coords={"over": [5], "polarity": list(p), "node": node, "seed": range(SEEDS), "epoch": epochs}
    )


def test_order_claims_need_several_nodes_and_two_different_epochs():
    study = find_study("SS.F8").configured("paper", {"seeds": SEEDS, "epochs": 1})
    assert "S0.F6.shift" not in verdicts(study, order_result(study, 1))
    single = find_study("SS.F8").configured("paper", {"seeds": SEEDS, "m": 1})
    assert not single.statements(order_result(single, 1))


@pytest.mark.parametrize("sign, verdict", [(1, "HOLDS"), (-1, "REFUTED")])
def test_order_claims(sign, verdict):
    study = find_study("SS.F8").configured("paper", {"seeds": SEEDS})
    assert set(verdicts(study, order_result(study, sign)).values()) == {verdict}


def test_a_node_is_recovered_at_its_first_epoch_above_and_late_if_never():
    study = find_study("SS.F8").configured("paper", {"epochs": 3})
    best = xr.DataArray(
        [[0.1, 0.96, 0.9, 0.97], [0.1, 0.2, 0.3, 0.4]], dims=("node", "epoch"), coords={"epoch": range(4)}
    )
    assert study.recovered_at(xr.Dataset({"best": best})).values.tolist() == [1, 4]


def fan_out_result(study, sign: int) -> xr.Dataset:
    """Half of the students follow; fan-out grows with correlation, or falls with it."""
    over, p, n = np.array(study.over), np.array(study.polarity), 10
    rho = np.linspace(0.1, 0.99, n) + np.where(np.arange(n) >= n // 2, 0.3, 0).clip(0)
    rho = np.minimum(rho, 0.999 - 1e-3 * np.arange(n)[::-1] * (np.arange(n) >= n // 2))
    fan_out = 10.0 ** (sign * np.arange(n) / n)
    mean = 0.9 - sign * 0.1 * p / over[:, None]
    shape = (SEEDS, len(over), 1, len(p))
    dims, cut = ("seed", "over", "epoch", "polarity"), ("seed", "over", "polarity")
    data = {
        "specialized": ((*dims, "student"), np.broadcast_to(rho, (*shape, n))),
        "fan_out": ((*dims, "student"), np.broadcast_to(fan_out, (*shape, n)) * (1 + noise(*shape, n))),
        "rho_mean": (dims, mean[None, :, None] + noise(*shape)),
        "loss": (dims, np.ones(shape)),
        "lost": ((*cut, "cut"), 0.1 ** (1 + sign) * (1 + noise(SEEDS, len(over), len(p), len(study.kept)))),
        "lost_by_chance": ((*cut, "cut"), 0.1 * (1 + noise(SEEDS, len(over), len(p), len(study.kept)))),
    }
    data |= {f"{name}_before": data["lost_by_chance"] for name in ("lost", "lost_by_chance")}
    return xr.Dataset(data, coords={"over": over, "polarity": p, "seed": range(SEEDS), "epoch": [study.epochs]})


def test_top_weights_of_randomly_kept_nodes_are_refitted():
    net, x = torch_default((4, 6, 3), seeds=[0]), torch.randn(80, 4, dtype=torch.float64)
    assert lost_share(net, some_of(net, x, torch.arange(6)), x) < 1e-20
    some, y = net.double().layers(x)[0][0].detach()[:, [1, 4]].numpy(), net(x)[0].detach().numpy()
    features = np.column_stack([some, np.ones(80)])
    left = y - features @ np.linalg.pinv(features) @ y
    share = (left**2).sum() / ((y - y.mean(0)) ** 2).sum()
    assert lost_share(net, some_of(net, x, torch.tensor([1, 4])), x) == pytest.approx(share)


@pytest.mark.parametrize("sign, verdict", [(1, "HOLDS"), (-1, "REFUTED")])
def test_fan_out_claims(sign, verdict):
    study = find_study("SS.F5").configured("paper", {"seeds": SEEDS})
    assert set(verdicts(study, fan_out_result(study, sign)).values()) == {verdict}


@pytest.mark.parametrize("changes, ids", [
    ({"over": [1]}, {"SS.F5.polarized-harder"}),
    ({"polarity": [1]}, {"SS.F5.follow", "SS.F5.small", "SS.F5.corner", "SS.F5.prunable"}),
])  # fmt: skip
def test_fan_out_claims_without_a_comparison_are_left_out(changes, ids):
    study = find_study("SS.F5").configured("paper", {"seeds": SEEDS, **changes})
    assert set(verdicts(study, fan_out_result(study, 1))) == ids
