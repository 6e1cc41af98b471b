"""LM.X.flat: the claims on made-up results, and one measured unit against sums over parameters."""

import numpy as np
import torch
import xarray as xr

from relulab import Verdict
from relulab.lab.control import controlled
from relulab.nets.initial import torch_default
from relulab.subjects.specialization.studies.flat_minima import STUDY
from relulab.subjects.specialization.tools.hessian_product import HessianProduct
from relulab.subjects.specialization.tools.luck_teacher import luck_teacher


def made_up(flat=0.6, un_specialized=1e-4, seeds=8, nodes=20, size=200):
    rng = np.random.default_rng(0)
    values = np.ones((seeds, 2, size))
    values[:, 1, : int(flat * size)] = 1e-6
    rho = np.where(np.arange(nodes) < nodes // 2, 0.99, 0.3) * np.ones((seeds, 2, nodes))
    curvature = np.where(rho > 0.95, 0.1, un_specialized) * (1 + 0.1 * rng.random(rho.shape))
    mass = 0.01 / curvature * (1 + 0.1 * rng.random(rho.shape))
    loss = 0.01 * np.ones((seeds, 2))
    dims = ("seed", "epoch")
    return xr.Dataset(
        {"eigenvalue": ((*dims, "index"), values), "curvature": ((*dims, "node"), curvature), "loss": (dims, loss),
         "rho": ((*dims, "node"), rho), "flat": ((*dims, "node"), mass)},
        coords={"seed": range(seeds), "epoch": [0, 6]},
    )  # fmt: skip


def verdicts(result):
    study = STUDY.configured("quick")
    claims = controlled(study.claims(result), study.controls(result), study.claims)
    assert all(c.control is not None for c in claims)
    return {c.id.removeprefix("LM.X.flat."): c.verdict for c in claims}


def test_claims_hold_and_are_refuted_where_they_should():
    assert verdicts(made_up()) == dict.fromkeys(("most", "nodes", "why"), Verdict.HOLDS)
    assert set(verdicts(made_up(0.3, 10.0)).values()) == {Verdict.REFUTED}


def test_students_without_both_kinds_of_nodes_show_nothing_on_nodes():
    result = made_up()
    result.rho[:] = 0.99
    found = verdicts(result)
    assert found["most"] is Verdict.HOLDS and found["nodes"] is found["why"] is Verdict.INCONCLUSIVE


def test_curvature_and_flat_directions_of_a_node_are_those_of_its_input_weights():
    study = STUDY.configured("smoke")
    star = luck_teacher((study.d, study.m, study.C), seeds=[0])
    net, x = (
        torch_default((study.d, 9, study.C), [0], dtype=torch.float64),
        torch.randn(50, study.d, dtype=torch.float64),
    )
    found = study._one(star, net, x)
    H = HessianProduct(net, x, star(x)[0].detach()).matrix()
    values, vectors = np.linalg.eigh(H)
    near = np.abs(values) <= study.near * np.abs(values).max()
    index = np.zeros(len(H), dtype=int) - 1  # the node of every parameter, in the order of the parameters
    first, last = study.d * 9, study.d * 9 + 9 * study.C
    index[:first] = np.tile(np.arange(9), study.d)
    index[last : last + 9] = np.arange(9)
    for k in range(9):
        np.testing.assert_allclose(float(found["curvature"][k]), np.diag(H)[index == k].mean(), rtol=1e-12)
        mass = (vectors[index == k][:, near] ** 2).sum() / max(near.sum(), 1)
        np.testing.assert_allclose(float(found["flat"][k]), mass, rtol=1e-6, atol=1e-12)


def test_units_measure_and_draw():
    study = STUDY.configured("smoke", {"seeds": 1, "steps": 20})
    (unit,) = study.units()
    result = study.measure(unit, lambda steps: None)
    assert set(study.figures(result)) == {"spectrum"} and np.isfinite(result.eigenvalue).all()
