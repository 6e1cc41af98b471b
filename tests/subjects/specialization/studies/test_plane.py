"""The study of lines in the plane: naive computations, claims on synthetic results, and a small run."""

import math

import numpy as np
import pytest
import torch
import xarray as xr

from relulab import MLP, sgd
from relulab.nets.initial import torch_default
from relulab.subjects.specialization import Nodes, alignment
from relulab.subjects.specialization.studies.plane.drawing import WINDOW, boundary
from relulab.subjects.specialization.studies.plane.measures import hidden, share
from relulab.subjects.specialization.studies.plane.study import MOMENTS, STUDY

SEEDS = 8


def small(**changes):
    return STUDY.configured("smoke", {"seeds": 2, "n_train": 200, "n_held_out": 100, **changes})


def test_a_boundary_is_where_the_node_is_zero_and_crosses_the_window():
    rng = np.random.default_rng(0)
    w, b = rng.normal(size=(50, 2)) * 10.0 ** rng.uniform(-3, 3, (50, 1)), rng.normal(size=50)
    ends = boundary(w, b)
    values = np.einsum("nd,ned->ne", w, ends) + b[:, None]
    foot = np.abs(b) / np.linalg.norm(w, axis=1)
    assert np.abs(values / np.linalg.norm(w, axis=1, keepdims=True)).max() <= 1e-12 * (1 + foot.max())
    # both ends are out of the window, on either side of the point of the line that is nearest to the origin
    assert (np.linalg.norm(ends, axis=-1) > math.sqrt(2) * WINDOW).all()
    assert ((ends[:, 0] - ends[:, 1]) ** 2).sum(-1).min() > (2 * WINDOW) ** 2


def test_the_share_is_that_of_the_summed_outputs():
    net = torch_default((2, 6, 5), seeds=range(3)).double()
    x = torch.randn(3, 400, 2, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    chosen = torch.tensor([[True, False] * 3, [False] * 6, [True] * 6])
    shares = share(net, x, chosen)
    for i in range(3):
        whole, part = [], []
        for point in x[i]:
            terms = [
                max(0.0, float(point @ net.W[0].data[i, :, k] + net.b[0].data[i, 0, k])) * net.W[1].data[i, k].numpy()
                for k in range(6)
            ]
            whole.append(sum(terms))
            part.append(sum((t for k, t in enumerate(terms) if chosen[i, k]), np.zeros(5)))
        assert float(shares[i]) == pytest.approx(np.var(part, axis=0).sum() / np.var(whole, axis=0).sum(), rel=1e-9)
    assert shares[1] == 0 and shares[2] == pytest.approx(1)


def test_opposite_students_cancel_in_the_share():
    """σ(z) − σ(−z) − z = 0: together they add nothing, though each of them does."""
    net = MLP((2, 4, 1), dtype=torch.float64)
    net.W[0].data[0] = torch.tensor([[1.0, -1.0, 1.0, 0.0], [0.0, 0.0, 0.0, 1.0]])
    net.b[0].data[0, 0, 2] = 100.0  # active everywhere: z, and a constant
    net.W[1].data[0] = torch.tensor([[1.0], [-1.0], [-1.0], [1.0]])
    x = torch.randn(1, 300, 2, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    three = torch.tensor([[True, True, True, False]])
    assert float(share(net, x, three)) == pytest.approx(0, abs=1e-12)
    assert float(share(net, x, torch.tensor([[True, False, False, False]]))) > 0.1


def test_students_start_as_regular_nodes_or_small_ones():
    regular, tiny = (hidden(small(start=start).student((0, 1))) for start in ("regular", "small"))
    torch.testing.assert_close(regular.w.norm(dim=-1), torch.ones(2, 6, dtype=torch.float64), rtol=1e-6, atol=0)
    assert tiny.w.norm(dim=-1).max() < 0.03 and not regular.b.any()
    directions = tiny.w / tiny.w.norm(dim=-1, keepdim=True)
    torch.testing.assert_close(regular.w, directions, rtol=1e-5, atol=1e-6)


def test_a_start_has_the_norms_of_the_printed_legend():
    v = STUDY.configured("paper").student(tuple(range(8))).W[1].data.norm(dim=-1)
    assert v.min() > 0.025 and v.max() < 0.045  # printed: 0.03 to 0.04


def test_recorded_values_are_those_of_the_networks():
    study = small(steps=20, epochs=3)
    data = study.measure(study.units()[0], lambda steps: None)
    task, student = study.task((0, 1)), study.student((0, 1))
    sgd(student, task, epochs=6, steps=10)  # blocks of ten steps, as the study counts them
    end, star, nodes = data.isel(step=-1), hidden(task.teacher), hidden(student)
    assert int(end.step) == 60 and data.step.values.tolist() == [0, 10, 20, 30, 40, 50, 60]
    np.testing.assert_array_equal(end.w, nodes.w)
    np.testing.assert_array_equal(end.b, nodes.b)
    np.testing.assert_array_equal(end.w_star, star.w)
    np.testing.assert_allclose(end.fan_out, student.W[1].data.norm(dim=-1), rtol=1e-6)
    for i in range(2):
        for j in range(2):
            error = alignment(Nodes(star.w[i, j : j + 1], star.b[i, j : j + 1]), Nodes(nodes.w[i], nodes.b[i]))
            np.testing.assert_allclose(end.error[i, j], error[0], rtol=1e-12)
        x, y = task.held_out().of_lane(i)
        gap = (student.lane(i)(x)[0].detach() - y).double().square().mean()
        assert float(end.loss[i]) == pytest.approx(float(gap), rel=1e-5)


def test_a_seed_does_not_depend_on_the_other_seeds_of_its_block():
    study = small(seeds=9, steps=20)
    together, alone = (study.measure(unit, lambda steps: None) for unit in study.units())
    assert together.seed.values.tolist() == [*range(8)] and alone.seed.values.tolist() == [8]
    three = small(steps=20)
    pair = three.measure(three.units()[0], lambda steps: None)
    xr.testing.assert_allclose(pair, together.sel(seed=[0, 1]), rtol=1e-3, atol=1e-5)


def test_snapshots_include_the_moments_of_the_paper_and_blocks_divide_an_epoch():
    study = STUDY.configured("paper")
    steps = [look * study.block for look in study.looks()]
    assert {e * 1000 for e in (*MOMENTS, 30)} <= set(steps) and 60 <= len(steps) <= 90
    odd = STUDY.configured("smoke", {"steps": 7})
    assert odd.block == 1 and odd.looks()[-1] == 14


def made_up(sign: int, spare: int = 3) -> xr.Dataset:
    """Students 1 to 6 − ``spare`` come to a teacher node and the others fade; with sign −1 the reverse of all that."""
    rng = np.random.default_rng(0)
    n, near = 6, np.arange(6) < 6 - spare
    jitter = np.exp(0.05 * rng.normal(size=(SEEDS, 2, n)))
    start, end = np.full((SEEDS, 2, n), 0.5) * jitter, np.where(near, 1e-3 if sign > 0 else 0.9, 0.9) * jitter
    v_start = 0.035 * np.exp(0.05 * rng.normal(size=(SEEDS, n)))
    v_end = np.where(near == (sign > 0), 2.0, 1e-3) * np.exp(0.05 * rng.normal(size=(SEEDS, n)))
    if sign < 0:
        end = np.where(near, 0.7, 1.0) * jitter
        v_end = np.where(near, 0.5, 2.0) * np.exp(0.05 * rng.normal(size=(SEEDS, n)))
    shares = 1e-4 if sign > 0 else 0.8
    return xr.Dataset(
        {
            "error": (("step", "seed", "node", "student"), np.stack([start, end])),
            "fan_out": (("step", "seed", "student"), np.stack([v_start, v_end])),
            "share": (("step", "seed"), np.stack([np.ones(SEEDS), shares * (1 + 0.1 * rng.random(SEEDS))])),
            "loss": (("step", "seed"), np.ones((2, SEEDS))),
        },
        coords={"step": [0, 100], "seed": range(SEEDS)},
    )


@pytest.fixture
def study():
    return STUDY.configured("quick", {"seeds": SEEDS})


def claims(study, result) -> dict:
    return {c.id: c for c in study.claims(result)}


@pytest.mark.parametrize("sign, verdict", [(1, "HOLDS"), (-1, "REFUTED")])
def test_claims_hold_where_they_are_true_and_are_refuted_where_the_opposite_is(study, sign, verdict):
    by_id = claims(study, made_up(sign))
    assert len(by_id) == 5 and {c.verdict.name for c in by_id.values()} == {verdict}


def test_one_student_that_keeps_its_fan_out_counts_against_its_seed(study):
    result = made_up(1)
    result.fan_out[-1, 2, 5] = 0.3
    fade = claims(study, result)["S0.F2.fade"]
    assert fade.measured == 1 - 1 / SEEDS and fade.note.startswith("Every seed has un-aligned students.")


def test_seeds_without_unaligned_students_are_left_out(study):
    result = made_up(1)
    result.error[-1, 3] = 1e-3
    by_id = claims(study, result)
    assert all("1 of 8 seeds have no un-aligned student" in by_id[id].note for id in ("S0.F2.fade", "SS.F3.share"))
    assert len(by_id["S0.F2.fade"].values) == 7
    result.error[-1] = 1e-3
    nothing = claims(study, result)["S0.F2.fade"]
    assert nothing.verdict.name == "INCONCLUSIVE" and "Undefined in 8 of 8 seeds" in nothing.note
    assert by_id["SS.F3.aligned"].note == ("In 8 of 8 seeds, every teacher node has a student with an error up to 0.1.")


def test_diverged_seeds_give_no_verdict(study):
    result = made_up(1)
    result.loss[-1, 0] = np.nan
    by_id = claims(study, result)
    assert {c.verdict.name for c in by_id.values()} == {"INCONCLUSIVE"}
    assert all("Undefined in 1 of 8 seeds" in c.note for c in by_id.values())


def test_a_small_run_draws_and_moves():
    study = small(steps=40, epochs=3)
    result = study.measure(study.units()[0], lambda steps: None)
    figures, moving = study.figures(result), study.animations(result)["lines"]
    assert list(figures) == ["frames", "students"] and moving.frames == result.sizes["step"] == 13
    titles = [ax.get_title() for ax in figures["frames"].axes if ax.get_title()]
    assert titles == ["epoch 0", "10 steps", "epoch 2", "epoch 3"]
    legends = [ax.get_legend() for ax in figures["frames"].axes if ax.get_legend()]
    printed = [[text.get_text() for text in legend.get_texts()] for legend in legends]
    shown = result.isel(seed=0).sel(step=[0, 10, 80, 120]).fan_out.values
    assert printed == [[f"{v:.2f}" for v in row] for row in shown]
    plane = moving.figure.axes[0]
    for i in (12, 2):
        moving.draw(i)
        now = result.isel(seed=0, step=i)
        dashed = np.array([np.array(line.get_data()).T for line in plane.lines[2:]])
        assert np.abs(np.einsum("kd,ked->ke", now.w, dashed) + now.b.values[:, None]).max() < 1e-6
        assert f"{int(now.step):,} steps" in plane.get_title()


def test_under_gradient_flow_fan_out_cannot_fall_below_a_start_with_small_hidden_weights():
    """‖v_k‖² − ‖w̃_k‖² − b_k² stays, up to the size of a step, so the printed 0.00 needs hidden weights that are not."""
    study = small(C=50, start="small", steps=400, seeds=3, lr=0.002)
    data = study.measure(study.units()[0], lambda steps: None)
    kept = data.fan_out**2 - (data.w**2).sum("axis") - data.b**2
    drift = float(np.abs(kept - kept.isel(step=0)).max())
    assert drift < 0.05 * float((data.fan_out**2).max()) and float(data.fan_out.max()) > 0.5
    # each student that stayed small is no smaller than it began
    idle = data.fan_out.max("step") < 0.1
    ratio = (data.fan_out.isel(step=-1) / data.fan_out.isel(step=0)).where(idle)
    assert int(idle.sum()) > 0 and float(ratio.min()) > 0.9
