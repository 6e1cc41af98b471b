"""A valid call of every public function, class and method of relulab, small enough to be made many times.

``CALLS`` has the arguments by name, after the name of the function in its door: ``bias.max_margin``. A method has its
object under ``self``. The instruments have their arguments in ``cases.py`` of their subjects.
"""

import inspect
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import battery
import numpy as np
import torch
import xarray as xr
from torch import nn

import relulab as rl
from relulab.core.explained import explained_methods
from relulab.data.labeled import Labeled
from relulab.lab.study import Study

DOORS = {"": rl, "bias": rl.bias, "distillation": rl.distillation, "specialization": rl.specialization}
NOT_CALLED = {
    "UserError": "an error takes any text",
    "RunStopped": "an error takes any text",
    "Diverged": "a warning takes any text",
    "Role": "an enumeration",
    "TrainedStudy": "a base class",
    "TrainedStudy.training": "a base class",
    "Claim": "made by claim",
    "Claim.noted": "made by claim",
    "Claim.unjudged": "made by claim",
    "Verdict": "its members are used, not the class",
    "Dask": "same arguments as Local, and a cluster",
}
SP, BI, DI = rl.specialization, rl.bias, rl.distillation


class Tiny(Study):
    """A study with one unit and nothing else."""

    name: ClassVar = "tiny"
    ids: ClassVar = ("XX.F1",)
    title: ClassVar = "Tiny"
    source: ClassVar = "none"
    presets: ClassVar = {"smoke": {}, "quick": {}}

    def units(self):
        return [rl.Unit("all", {})]

    def measure(self, unit, tick):
        return xr.Dataset({"a": ("seed", [1.0])}, coords={"seed": [0]})

    def figures(self, result):
        return {}

    def claims(self, result):
        return []


def double(*shape: int) -> torch.Tensor:
    return battery.drawn(3, *shape, dtype=torch.float64)


def pair(d: int = 2) -> dict[str, Any]:
    """A teacher and a student of two layers."""
    return {"teacher": rl.torch_default((d, 3, 1), [0]), "student": rl.torch_default((d, 4, 1), [1])}


def plain() -> nn.Sequential:
    return nn.Sequential(nn.Linear(2, 4), nn.ReLU(), nn.Linear(4, 1))


def normed() -> nn.Sequential:
    return nn.Sequential(nn.Linear(2, 4), nn.BatchNorm1d(4), nn.ReLU(), nn.Linear(4, 1))


def connected() -> rl.specialization.Connection:
    a, b = rl.torch_default((2, 3, 1), [0]), rl.torch_default((2, 3, 1), [1])
    return SP.connect(a, b, double(6, 2), double(6, 1), steps=1)


def task() -> rl.Task:
    return rl.Task(rl.torch_default((2, 3, 1), [0]), rl.Gaussian(2), seeds=[0], n_train=8, n_held_out=8)


def tensors() -> dict[str, Any]:
    return {"X": torch.zeros(8, 2), "Y": torch.zeros(8, 1)}


def data() -> Labeled:
    X = torch.tensor([[1.0, 2.0], [2.0, 1.0], [-1.0, -2.0], [-2.0, -1.0]]).double()
    return Labeled(X, torch.tensor([1.0, 1.0, -1.0, -1.0]).double())


def nodes(n: int = 2) -> Any:
    return SP.Nodes(double(n, 2), double(n))


def near() -> tuple[Any, Any]:
    """Two teacher nodes with strongly negative biases, and students near them."""
    star, b = torch.eye(2).double(), torch.full((2,), -4.0).double()
    return SP.Nodes(star, b), SP.Nodes(star + 0.005 * star.flip(0), b)


def wide() -> dict[str, Any]:
    """Networks of these nodes."""
    nets = {"teacher": rl.MLP((2, 2, 1), dtype=torch.float64), "student": rl.MLP((2, 2, 1), dtype=torch.float64)}
    for net, (w, b) in zip(nets.values(), near(), strict=True):
        net.W[0].data[0], net.b[0].data[0, 0] = w.T, b
        net.W[1].data.fill_(1.0)
    return nets


def sample() -> dict[str, Any]:
    """Points and a linear teacher."""
    return {"X": double(12, 3), "w_star": double(3)}


def generator() -> np.random.Generator:
    return np.random.default_rng(0)


def of_files(folder: Path) -> None:
    """Write the files that the calls read."""
    rl.save(rl.MLP((2, 3, 1)), folder / "net.safetensors")
    np.savez(folder / "points.npz", X=np.eye(2), y=[0, 1])
    (folder / "digits").mkdir()
    for stem in ("train", "t10k"):
        images, labels = (struct.pack(">4B", 0, 0, 8, axes) for axes in (3, 1))
        images += struct.pack(">3I", 1, 28, 28) + bytes(28 * 28)
        (folder / "digits" / f"{stem}-images-idx3-ubyte").write_bytes(images)
        (folder / "digits" / f"{stem}-labels-idx1-ubyte").write_bytes(labels + struct.pack(">I", 1) + bytes(1))
    (folder / "digits" / "data_batch_1.bin").write_bytes(bytes(1 + 3 * 32 * 32))


law, angular = DI.PolynomialAngles(), DI.Angular(3, DI.PolynomialAngles())
CALLS: dict[str, Callable[[], dict[str, Any]]] = {
    # networks
    "MLP": lambda: {"widths": (2, 3, 1)},
    "MLP.lane": lambda: {"self": rl.MLP((2, 3, 1)), "i": 0},
    "MLP.module": lambda: {"self": rl.MLP((2, 3, 1)), "i": 0},
    "MLP.of": lambda: {"modules": plain()},
    "BatchNormMLP": lambda: {"widths": (2, 3, 1)},
    "BatchNormMLP.lane": lambda: {"self": rl.BatchNormMLP((2, 3, 1)), "i": 0},
    "BatchNormMLP.module": lambda: {"self": rl.BatchNormMLP((2, 3, 1)), "i": 0},
    "BatchNormMLP.of": lambda: {"modules": rl.BatchNormMLP((2, 3, 1)).module()},
    "Residual": lambda: {"widths": (2, 3, 1), "depth": 2},
    "small_normal": lambda: {"widths": (2, 3, 1), "seeds": [0]},
    "torch_default": lambda: {"widths": (2, 3, 1), "seeds": [0]},
    "balanced": lambda: {"widths": (2, 3, 1), "seeds": [0]},
    "residual_default": lambda: {"widths": (2, 3, 1), "seeds": [0], "depth": 2},
    "hidden": lambda: {"net": plain(), "x": torch.zeros(4, 2)},
    "multiply_adds": lambda: {"net": plain(), "shape": (2,)},
    "load": lambda: {"path": "net.safetensors"},
    "save": lambda: {"net": rl.MLP((2, 3, 1)), "path": "saved.safetensors"},
    # data
    "Gaussian": lambda: {"d": 2},
    "Gaussian.draw": lambda: {"self": rl.Gaussian(2), "rng": generator(), "n": 3},
    "Uniform": lambda: {"d": 2},
    "Uniform.draw": lambda: {"self": rl.Uniform(2), "rng": generator(), "n": 3},
    "Task": lambda: {"teacher": rl.MLP((2, 3, 1)), "inputs": rl.Gaussian(2), "seeds": [0], "n_train": 8},
    "Task.train": lambda: {"self": task(), "epoch": 0},
    "Task.steps": lambda: {"self": task(), "batch": 2},
    "Task.batches": lambda: {"self": task(), "epoch": 0, "steps": 2, "batch": 2},
    "TensorTask": lambda: tensors(),
    "TensorTask.train": lambda: {"self": rl.TensorTask(**tensors()), "epoch": 0},
    "TensorTask.steps": lambda: {"self": rl.TensorTask(**tensors()), "batch": 2},
    "TensorTask.batches": lambda: {"self": rl.TensorTask(**tensors()), "epoch": 0, "steps": 2, "batch": 2},
    "labeled": lambda: {"X": [[1.0, 2.0], [-1.0, 0.0]], "y": [0, 1]},
    "LabeledTask": lambda: {"data": [data()], "seeds": [0]},
    "LabeledTask.train": lambda: {"self": rl.LabeledTask([data()], seeds=[0]), "epoch": 0},
    "LabeledTask.steps": lambda: {"self": rl.LabeledTask([data()], seeds=[0]), "batch": 2},
    "LabeledTask.batches": lambda: {
        "self": rl.LabeledTask([data()], seeds=[0]), "epoch": 0, "steps": 2, "batch": 2
    },
    "mnist": lambda: {"part": "train", "folder": "digits"},
    "cifar": lambda: {"kind": 10, "part": "train", "folder": "digits"},
    "Points": lambda: {"X": torch.ones(1, 3, 2), "Y": torch.ones(1, 3, 1), "group": torch.zeros(1, dtype=torch.long)},
    "panels": lambda: {"rows": 1, "columns": 1},
    "rank_correlation": lambda: {"a": np.arange(3.0), "b": np.arange(3.0)},
    "stream": lambda: {"root": 0, "role": rl.Role.TEACHER, "index": 1},
    "read_data": lambda: {"path": "points.npz"},
    "read_points": lambda: {"path": "points.npz"},
    "read_table": lambda: {"path": "points.npz"},
    # training
    "fit": lambda: {"net": plain(), "task": rl.TensorTask(**tensors()), "epochs": 1},
    "sgd": lambda: {"student": rl.torch_default((2, 3, 1), [0]), "task": task(), "epochs": 1, "steps": 2},
    "SGD": lambda: {},
    "SGD.of_torch": lambda: {"self": rl.SGD(), "parameters": list(plain().parameters())},
    "Adam": lambda: {},
    "Adam.of_torch": lambda: {"self": rl.Adam(), "parameters": list(plain().parameters())},
    "StepDecay": lambda: {"every": 2},
    "Cosine": lambda: {"length": 2},
    "MSE": lambda: {},
    "CrossEntropy": lambda: {},
    "Logistic": lambda: {},
    "Probe": lambda: {"epochs": [0], "measure": lambda net: {}},
    "gradient_flow": lambda: {
        "net": rl.balanced((2, 4, 1), [0], size=1e-3), "X": data().X, "y": data().y, "until": 3.0, "step": 0.8
    },
    # the laboratory
    "Study": lambda: {"self": Tiny},
    "Study.configured": lambda: {"self": Tiny, "preset": "smoke"},
    "Study.differs": lambda: {"self": Tiny(), "preset": "smoke"},
    "Unit": lambda: {"name": "a", "values": {}},
    "Control": lambda: {"name": "noise", "claims": ("X.1",), "result": xr.Dataset({"a": ("seed", [1.0])})},
    "claim": lambda: {"id": "X.1", "says": "a", "values": [1.0, 2.0], "relation": ">", "bound": 0.0},
    "interval": lambda: {"values": xr.DataArray([0.0, 1.0], dims="seed")},
    "Check": lambda: {"says": "a", "measured": 1.0, "relation": "<=", "bound": 2.0},
    "Finding": lambda: {"conditions": (), "conclusion": ()},
    "find_study": lambda: {"wanted": "SS.F7"},
    "find_theorem": lambda: {"wanted": "SS.L1"},
    "run_study": lambda: {"study": Tiny(), "engine": rl.Local(1)},
    "Local": lambda: {},
    # inductive bias
    "bias.OppositeOrthants": lambda: {"d": 3},
    "bias.OppositeOrthants.draw": lambda: {"self": BI.OppositeOrthants(3), "rng": generator(), "n": 6},
    "bias.SpanningSupports": lambda: {"d": 3},
    "bias.SpanningSupports.draw": lambda: {"self": BI.SpanningSupports(2), "rng": generator(), "n": 6},
    "bias.absorbing_sectors": lambda: {"data": data(), "width": 8, "size": 1e-2, "until": 2.0, "step": 0.9},
    "bias.balanced_neurons": lambda: {"data": data(), "width": 3, "steps": 2},
    "bias.digit_net": lambda: {"seed": 0},
    "bias.extremal_gradient": lambda: {"data": data(), "starts": 2},
    "bias.feature_separability": lambda: {"net": plain(), "X": data().X, "y": data().y},
    "bias.gain_near_a_direction": lambda: {"data": data(), "w": torch.eye(2).double(), "v": torch.ones(2, 2).double()},
    "bias.hard_margin": lambda: {"Z": data().X * data().y[:, None]},
    "bias.kkt_point": lambda: {"data": data()},
    "bias.lasting_activations": lambda: {"data": data(), "width": 4, "size": 1e-2, "until": 2.0, "step": 0.9},
    "bias.layer_features": lambda: {"net": nn.Sequential(nn.Flatten(), nn.ReLU()), "x": torch.zeros(1, 1, 28, 28)},
    "bias.learned_function": lambda: {"data": data(), "width": 8, "size": 1e-2, "until": 2.0, "step": 0.9},
    "bias.max_margin_neurons": lambda: {"data": data(), "width": 8, "size": 1e-2, "until": 2.0, "step": 0.9},
    "bias.two_neurons": lambda: {"net": rl.torch_default((2, 4, 1), [0]), "X": data().X},
    "bias.sliding_neurons": lambda: {"data": data(), "width": 3, "windows": 1},
    "bias.surviving_neurons": lambda: {"data": data(), "widths": (1,), "starts": 5},
    "bias.two_extremal_directions": lambda: {"X": data().X, "y": data().y, "starts": 8},
    # linear distillation
    "distillation.Angular": lambda: {"d": 3, "law": law},
    "distillation.Angular.draw": lambda: {"self": angular, "rng": generator(), "n": 3},
    "distillation.EstimatedAngles": lambda: {"angles": [0.1, 0.2]},
    "distillation.EstimatedAngles.of": lambda: sample(),
    "distillation.PolynomialAngles": lambda: {},
    "distillation.SphereAngles": lambda: {"d": 3},
    "distillation.angular_risk": lambda: {"alpha": [0.1], "law": law, "d": 3},
    "distillation.angular_risks": lambda: {"task": angular, "n": [1, 2], "sets": 2, "rng": generator()},
    "distillation.approximate_students": lambda: {**sample(), "n": 2, "sets": 4},
    "distillation.balance_allowance": lambda: {"X": np.eye(2), "w_star": [1.0, 1.0], "start": [[[0.0, 0.1]], [[0.1]]]},
    "distillation.balanced_factors": lambda: {"w": double(3), "rng": generator(), "depth": 2, "widths": 2},
    "distillation.balanced_start": lambda: {**sample(), "rng": 0, "depth": 2, "norm": 1e-3, "widths": 2},
    "distillation.close_vectors": lambda: {"w": [3.0, 4.0], "v": [3.0, 5.0]},
    "distillation.deep_student": lambda: {**sample(), "steps": 3},
    "distillation.distance_bound": lambda: {"start": 0.1, "depth": 2, "norm": 1.0},
    "distillation.distillation_descent": lambda: {**sample(), "steps": 4},
    "distillation.distillation_flow": lambda: {**sample(), "steps": 20},
    "distillation.from_labels": lambda: {"X": np.eye(2), "y": [0.5, 0.75]},
    "distillation.hard_target": lambda: {"X": np.eye(2), "w_star": [1.0, 1.0]},
    "distillation.induced_flow": lambda: {**sample(), "steps": 3},
    "distillation.large_margin": lambda: {**sample(), "n": 2, "sets": 4},
    "distillation.largest_start": lambda: {"epsilon": 0.1, "depth": 2, "norm": 1.0},
    "distillation.loss_rate": lambda: {**sample(), "steps": 3},
    "distillation.margin_bound": lambda: {"gamma": 0.5, "n": 2},
    "distillation.nearly_balanced_student": lambda: {**sample(), "steps": 3},
    "distillation.nested_students": lambda: sample(),
    "distillation.polynomial_bound": lambda: {"kappa": 1.0, "n": 2},
    "distillation.polynomial_rate": lambda: {**sample(), "n": 2, "sets": 4},
    "distillation.sample_risks": lambda: {**sample(), "n": 2, "sets": 4, "rng": 0},
    "distillation.samples_needed": lambda: {"law": law, "risk": 0.5},
    "distillation.shallow_student": lambda: {**sample(), "steps": 20},
    "distillation.soft_labels": lambda: {"X": double(2, 3), "w": double(3)},
    "distillation.strong_monotonicity": lambda: {**sample(), "orders": 2},
    "distillation.student_in_span": lambda: {**sample(), "until": 1.0},
    "distillation.transfer": lambda: sample(),
    "distillation.transfer_bound": lambda: {"law": law, "n": 2},
    "distillation.transfer_risk_bound": lambda: {**sample(), "n": 2, "sets": 4},
    "distillation.unbiased": lambda: {**sample(), "delta": 0.5, "rng": 0},
    # specialization
    "specialization.Augmented": lambda: {"x": torch.zeros(2, 2), "row": torch.arange(2)},
    "specialization.Box": lambda: {"low": torch.zeros(2), "high": torch.ones(2)},
    "specialization.Box.of": lambda: {"x": double(3, 2)},
    "specialization.Box.around": lambda: {"d": 2},
    "specialization.Box.fits": lambda: {"self": SP.Box.around(2), "d": 2},
    "specialization.Box.reach": lambda: {"self": SP.Box.around(2), "nodes": nodes()},
    "specialization.Box.draw": lambda: {"self": SP.Box.around(2), "n": 2, "generator": torch.Generator()},
    "specialization.NearBoundaries": lambda: {"nodes": nodes()},
    "specialization.NearBoundaries.draw": lambda: {"self": SP.NearBoundaries(nodes()), "rng": generator(), "n": 3},
    "specialization.NearBoundaries.unscaled": lambda: {
        "self": SP.NearBoundaries(nodes()), "rng": generator(), "n": 3
    },
    "specialization.Nodes": lambda: {"w": double(2, 3), "b": double(2)},
    "conv_net": lambda: {"channels": (1, 2), "side": 4, "outputs": 2},
    "specialization.luck_conv_teacher": lambda: {"channels": (1, 2), "side": 4, "outputs": 2},
    "specialization.ModuleObserver": lambda: {"teacher": task().teacher.module(), "points": task().held_out()},
    "specialization.ModuleObserver.__call__": lambda: {
        "self": SP.ModuleObserver(task().teacher.module(), task().held_out()),
        "student": rl.torch_default((2, 5, 1), [0]).module(),
    },
    "specialization.LayerObserver": lambda: {"teacher": task().teacher, "points": task().held_out()},
    "specialization.LayerObserver.__call__": lambda: {
        "self": SP.LayerObserver(task().teacher, task().held_out()), "student": rl.torch_default((2, 5, 1), [0])
    },
    "specialization.Observer": lambda: {"teacher": task().teacher, "points": task().held_out()},
    "specialization.Observer.__call__": lambda: {
        "self": SP.Observer(task().teacher, task().held_out()), "student": rl.torch_default((2, 5, 1), [0])
    },
    "specialization.LayerBiases": lambda: vars(SP.batch_norm_biases(normed())[0]),
    "specialization.batch_norm_biases": lambda: {"net": normed()},
    "specialization.batch_norm_gradient": lambda: {"f": double(6, 2), "g": double(6, 2) ** 2},
    "specialization.conserved_norms": lambda: {
        "net": normed(), "x": double(8, 2), "y": double(8, 1), "epsilon": 0.0, "steps": 1
    },
    "specialization.agreement": lambda: {"a": plain(), "b": plain(), "x": double(6, 2)},
    "specialization.chance_correlations": lambda: {"a": plain(), "b": plain(), "x": double(6, 2), "draws": 2},
    "specialization.Connection": lambda: vars(connected()),
    "specialization.connect": lambda: {"a": plain(), "b": plain(), "x": double(8, 2), "y": double(8, 1), "steps": 2},
    "specialization.creases": lambda: {**pair(), "box": SP.Box.around(2)},
    "specialization.gradient_rule": lambda: {**pair(), "x": double(4, 2)},
    "specialization.mean_dynamics": lambda: {**pair(), "x": double(4, 2), "time": 1.0, "steps": 2},
    "specialization.node_gradient_rule": lambda: {**pair(), "x": double(4, 2)},
    "specialization.separated_dynamics": lambda: {**pair(), "x": double(4, 2)},
    "specialization.separated_expectations": lambda: {**pair(), "x": double(20, 2)},
    "specialization.groups": lambda: {"net": rl.torch_default((2, 3, 1), [0])},
    "specialization.history": lambda: {"teacher": plain(), "checkpoints": [plain()], "x": torch.eye(2)},
    "specialization.interpolation": lambda: {**pair(), "x": double(4, 2)},
    "specialization.bottom_bounds": lambda: dict(zip(("star", "nodes"), near(), strict=True)),
    "specialization.equal_width_recovery": lambda: dict(zip(("star", "nodes"), near(), strict=True), steps=2),
    "specialization.lipschitz_overlaps": lambda: {"nodes": nodes(), "angle": 0.01},
    "specialization.over_realized_recovery": lambda: {**wide(), "theta_0": 0.01, "B_dv": 0.1, "steps": 2},
    "specialization.quadratic_fall_off": lambda: {"nodes": nodes(), "angle": 0.1},
    "specialization.small_overlaps": lambda: {"nodes": nodes()},
    "specialization.start_near": lambda: {
        "teacher": SP.luck_teacher((3, 2, 2), seeds=[0]), "width": 3, "p_W": 1.0, "p_V": 1.0, "seeds": [0]
    },
    "specialization.top_bounds": wide,
    "specialization.layer_correlations": lambda: {**pair(), "x": double(4, 2)},
    "specialization.lowest_layer": lambda: {**pair(1), "x": double(3, 1), "epsilon": 0.5},
    "specialization.lowest": lambda: {"net": plain()},
    "specialization.negative_feedback": lambda: {
        "W": np.array([[0.1, 0.02], [0.05, -0.01]]), "w_star": np.array([1.0, 0.0]), "a": np.array([1.0, 0.5]),
        "time": 0.5,
    },
    "specialization.noisy_recovery": lambda: {**pair(), "box": SP.Box.around(2)},
    "specialization.norm_ratio": lambda: {
        "W": np.array([[0.1, 0.02], [0.05, -0.01]]), "r": lambda W: -W, "time": 0.5
    },
    "specialization.one_to_one": lambda: {"rho": double(3, 4)},
    "specialization.polynomial_samples": lambda: {**pair(1), "x": double(3, 1), "epsilon": 0.5},
    "specialization.prunable_students": lambda: {**pair(), "region": SP.Box.around(2)},
    "specialization.weight_magnitude": lambda: {**pair(), "x": double(4, 2)},
    "specialization.zero_contribution": lambda: {**pair(), "region": SP.Box.around(2)},
    "specialization.prune": lambda: {"net": plain(), "x": double(6, 2)},
    "specialization.rewind": lambda: {"trained": plain(), "start": plain(), "keep": [[0, 1]]},
    "specialization.fine_tuned": lambda: {"net": plain(), "x": double(6, 2), "y": double(6, 1), "steps": 2},
    "specialization.match": lambda: {"a": plain(), "b": plain(), "x": double(9, 2)},
    "specialization.regular": lambda: {"nodes": nodes()},
    "specialization.regularized": lambda: {"net": plain()},
    "specialization.relu_independence": lambda: {"nodes": nodes(), "box": SP.Box.around(2)},
    "specialization.spherical_push": lambda: {"w": double(2), "w_star": double(2), "x": double(50, 2)},
    "specialization.student_specialization": lambda: {**pair(), "region": SP.Box.around(2)},
    "specialization.teacher": lambda: {"widths": (2, 3, 1), "seeds": [0]},
    "specialization.deep_teacher": lambda: {"widths": (3, 4, 2), "seeds": [0], "n_held_out": 50},
    "specialization.luck_teacher": lambda: {"widths": (3, 4, 2), "seeds": [0]},
    "specialization.teacher_agnostic": lambda: {"x": double(4, 2), "step": 0.5},
    "specialization.teacher_aware": lambda: {"x": double(4, 2), "nodes": nodes(), "step": 0.5},
    "specialization.teacher_aware_samples": lambda: {**pair(1), "x": double(3, 1), "epsilon": 0.5},
}  # fmt: skip


def public() -> dict[str, Any]:
    """Return every public function and class, and every method that explains mistakes, by name."""
    found = {}
    for door, module in DOORS.items():
        for name in dir(module):
            thing, full = getattr(module, name), f"{door}.{name}".lstrip(".")
            if inspect.ismodule(thing):
                continue
            found[full] = thing
            if inspect.isclass(thing):
                found |= {f"{full}.{method}": getattr(thing, method) for method in explained_methods(thing)}
    return found


def calls() -> dict[str, Callable[[], dict[str, Any]]]:
    """Return the arguments of all valid calls, with those of the instruments."""
    found, functions = dict(CALLS), public()
    for name, case in battery.cases().items():
        full = next(key for key in functions if key.rpartition(".")[2] == name)
        names = list(inspect.signature(functions[full]).parameters)
        found[full] = lambda case=case, names=names: dict(zip(names, case.arguments(torch.float64), strict=False))
    return found
