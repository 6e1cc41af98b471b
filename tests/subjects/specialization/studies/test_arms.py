"""Studies that train students in several ways: their arms, a second initialization, and claims on synthetic results."""

import numpy as np
import pytest
import torch
import xarray as xr

from relulab import UserError
from relulab.subjects.specialization.studies.one_output import STUDY as ONE_OUTPUT
from relulab.subjects.specialization.studies.reinitialization import STUDY as REINITIALIZATION
from relulab.subjects.specialization.studies.uniform_inputs import STUDY as UNIFORM_INPUTS

SEEDS = 6
TINY = {"d": 6, "C": 3, "m": 3, "steps": 20, "n_train": 60, "n_held_out": 50}
# how many of 4 nodes the students of each arm recover, where the claims are true
RECOVERED = {
    ONE_OUTPUT: {"many": 4, "one": 2, "equal": 3},
    REINITIALIZATION: {"on": 2, "chosen": 4, "random": 2},
    UNIFORM_INPUTS: {"gaussian": 3, "uniform": 3},
}


def measured(study) -> xr.Dataset:
    return xr.merge(
        [study.measure(unit, lambda steps: None) for unit in study.units()], join="outer", compat="no_conflicts"
    )


def made_up(study, sign: int) -> xr.Dataset:
    """Arms recover as many nodes as the claims say, the strong ones; or, with sign −1, the opposite."""
    rng, looks, node, student = np.random.default_rng(0), study.looks(), np.arange(1, 5), np.arange(1, 9)
    dims = ("seed", "arm", "over", "polarity", "epoch")
    shape = (SEEDS, len(study.arms), len(study.over), 1, len(looks))
    number = np.array([*RECOVERED[type(study)].values()])
    if type(study) is UNIFORM_INPUTS and sign < 0:
        number = np.array([4, 1])
    elif sign < 0:
        number = 5 - number
    order = node if sign > 0 else 5 - node
    best = np.where(order <= number[:, None], 0.99, 0.5) - 0.01 * order
    best = np.broadcast_to(best[None, :, None, None, None], (*shape, 4)) + 1e-4 * rng.normal(size=(*shape, 4))
    best = np.where((np.array(looks) == 0)[:, None], 0.3, best)
    specialized = np.broadcast_to(student / 10, (*shape, 8))
    data = {
        "best": ((*dims, "node"), best), "loss": (dims, np.ones(shape)), "idle": (dims, np.full(shape, 0.5)),
        "strength": ((*dims[:-1], "node"), np.broadcast_to(1 / node, (*shape[:-1], 4))),
        "specialized": ((*dims, "student"), specialized),
        "fan_out": ((*dims, "student"), sign * specialized + 1e-4 * rng.normal(size=(*shape, 8))),
    }  # fmt: skip
    coords = {
        "seed": range(SEEDS), "arm": list(study.arms), "over": list(study.over), "polarity": list(study.polarity),
        "epoch": list(looks), "node": node, "student": student,
    }  # fmt: skip
    return xr.Dataset(data, coords=coords)


@pytest.mark.parametrize("kind", RECOVERED)
def test_claims_follow_the_results_and_controls_do_not_hold(kind):
    study = kind.configured("paper", {"seeds": SEEDS, "m": 4})
    result = made_up(study, 1)
    assert {c.verdict.name for c in study.claims(result)} == {"HOLDS"}
    assert {c.verdict.name for c in study.claims(made_up(study, -1))} == {"REFUTED"}
    covered = set()
    for control in study.controls(result):
        judged = [c for c in study.claims(control.result) if control.covers(c)]
        assert judged and not [c.id for c in judged if c.verdict.name == "HOLDS"], control.name
        covered |= {c.id for c in judged}
    assert covered == {c.id for c in study.claims(result)}
    assert len(study.figures(result)) == 1 and set(study.statistics(result)) == {
        f"share of nodes recovered, {label}" for label in study.arms.values()
    }


@pytest.mark.parametrize("kind", RECOVERED)
def test_units_cover_every_arm_once(kind):
    study = kind.configured("paper")
    units = study.units()
    assert len({unit.name for unit in units}) == len(units)
    for arm in study.arms:
        for over in study.over:
            own = [u.values for u in units if (u.values["arm"], u.values["over"]) == (arm, over)]
            assert sorted(seed for values in own for seed in values["seeds"]) == list(range(32))


def test_teachers_differ_in_their_outputs_only():
    study = ONE_OUTPUT.configured("smoke", TINY)
    many, one, equal = (study.in_arm(arm).task((0, 1)).teacher for arm in study.arms)
    assert (many.widths[-1], one.widths[-1], equal.widths[-1]) == (3, 1, 1)
    assert torch.equal(many.W[0], one.W[0]) and torch.equal(one.W[0], equal.W[0])
    for star in (many, one, equal):
        strength = star.W[1].data.norm(dim=-1)
        torch.testing.assert_close(strength.square().mean(-1), torch.full((2,), 4.5**2, dtype=torch.float64))
    assert float(equal.W[1].data.abs().std()) < 1e-12 < float(one.W[1].data.abs().std())


def test_both_kinds_of_inputs_have_the_same_spread():
    study = UNIFORM_INPUTS.configured("smoke", {**TINY, "n_train": 5000})
    gaussian, uniform = (study.in_arm(arm).task((0,)).train().X for arm in study.arms)
    assert float(gaussian.std()) == pytest.approx(1.5, rel=0.02) == float(uniform.std())
    assert float(uniform.abs().max()) <= 1.5 * 3**0.5 < float(gaussian.abs().max())
    with pytest.raises(UserError, match="compares both kinds of inputs"):
        UNIFORM_INPUTS.configured("smoke", {"inputs": "uniform"})


def test_only_chosen_students_are_initialized_again():
    study = REINITIALIZATION.configured("smoke", TINY)
    student = study.students(study.task((0, 1)), 2)
    for parameter in student.parameters():
        parameter.data += 1
    chosen = torch.tensor([True, False, False, True, False, False])
    study.initialize(student, 1, chosen, seed=1)
    assert bool((student.W[0].data[0] > 0.5).all()) and bool((student.W[0].data[1][:, ~chosen] > 0.5).all())
    assert bool((student.W[1].data[1][~chosen] > 0.5).all()) and bool((student.b[1].data == 1).all())
    assert bool((student.W[0].data[1][:, chosen].abs() < 0.05).all())
    assert bool((student.W[1].data[1][chosen].abs() < 0.05).all())
    assert student.b[0].data[1, 0].tolist() == [0, 1, 1, 0, 1, 1]


def test_arms_are_equal_until_students_are_initialized_again():
    study = REINITIALIZATION.configured("smoke", {**TINY, "epochs": 3, "again": 2, "seeds": 2})
    result = measured(study)
    before, after = result.sel(epoch=slice(0, 2)), result.sel(epoch=3)
    for arm in ("chosen", "random"):
        xr.testing.assert_equal(before.loss.sel(arm=arm, drop=True), before.loss.sel(arm="on", drop=True))
        assert bool((after.loss.sel(arm=arm, drop=True) != after.loss.sel(arm="on", drop=True)).any())
    assert result.epoch.values.tolist() == [0, 1, 2, 3] and bool((result.diverged_at == -1).all())
    # training on in two parts is training in one
    plain = study.in_arm("on")
    whole = super(type(plain), plain).train(study.units()[0], *_parts(plain))
    np.testing.assert_array_equal(whole.loss.sel(epoch=3), after.loss.sel(arm="on").values.ravel())


def _parts(study):
    from relulab.subjects.specialization.tools.observation import Observer

    task = study.task((0, 1))
    return study.students(task, 1), task, Observer(task.teacher, task.held_out()), lambda steps: None


def test_random_students_are_as_many_as_the_idle_ones():
    study, idle = REINITIALIZATION.configured("smoke", TINY), torch.tensor([True] * 3 + [False] * 9)
    assert torch.equal(study._chosen(idle, 0, "chosen"), idle)
    drawn = [study._chosen(idle, seed, "random") for seed in range(5)]
    assert all(int(d.sum()) == 3 for d in drawn) and len({tuple(d.tolist()) for d in drawn}) > 1


def test_a_second_initialization_comes_before_the_end():
    with pytest.raises(UserError, match="again = 9 is not before the last epoch, 3"):
        REINITIALIZATION.configured("smoke", {"again": 9})
