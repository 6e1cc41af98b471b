"""relulab: a laboratory for what ReLU networks learn.

The names a user needs, grouped. They are imported when first used, so that ``import relulab`` costs nothing.
"""

from importlib import import_module

_DOOR = {
    # networks
    "MLP": "nets.mlp",
    "small_normal": "nets.initial",
    "torch_default": "nets.initial",
    "balanced": "nets.initial",
    "residual_default": "nets.initial",
    "Residual": "nets.residual",
    "digit_net": "nets.digit_net",
    "layer_features": "nets.digit_net",
    "hidden": "nets.hooks",
    "load": "nets.files.network",
    "save": "nets.files.network",
    # data
    "Gaussian": "data.inputs",
    "Uniform": "data.inputs",
    "Task": "data.task",
    "Labelled": "data.labelled",
    "labelled": "data.labelled",
    "LabelledTask": "data.labelled_task",
    "OppositeOrthants": "data.orthants",
    "SpanningSupports": "data.orthants",
    "PolynomialAngles": "data.angles",
    "SphereAngles": "data.angles",
    "Angular": "data.angles",
    "read_points": "data.files",
    "mnist": "data.mnist",
    "read_idx": "data.idx",
    "read_table": "data.tables",
    # training
    "sgd": "train.sgd",
    "gradient_flow": "train.flow.gradient_flow",
    "MSE": "train.losses",
    "CrossEntropy": "train.losses",
    "Logistic": "train.losses",
    "Probe": "train.probe",
    # specialisation
    "teacher": "specialization.teacher",
    "Observer": "specialization.observation",
    "correlation": "specialization.correlation",
    "layer_correlations": "specialization.correlation",
    "best_match": "specialization.correlation",
    "rho_mean": "specialization.correlation",
    "recovered": "specialization.correlation",
    "mean_rank": "specialization.mean_rank",
    "fan_out": "specialization.fan_out",
    "top_down": "specialization.top_down",
    "modulation": "specialization.top_down",
    "recovered_at": "specialization.history",
    "focus": "specialization.history",
    "focus_shifts": "specialization.history",
    "history": "specialization.history",
    "Nodes": "specialization.nodes",
    "lowest": "specialization.nodes",
    "regular": "specialization.nodes",
    "regularised": "specialization.nodes",
    "alignment": "specialization.alignment",
    "observers": "specialization.observers",
    "band_counts": "specialization.observers",
    "kappa": "specialization.observers",
    "eta": "specialization.scatter",
    "mu": "specialization.scatter",
    "tau": "specialization.scatter",
    "Box": "specialization.box",
    "creases": "specialization.creases",
    "groups": "specialization.groups",
    "Augmented": "specialization.augmentation",
    "teacher_agnostic": "specialization.augmentation",
    "teacher_aware": "specialization.augmentation",
    "NearBoundaries": "specialization.near_boundaries",
    "prune": "specialization.pruning",
    "gradient_rule": "specialization.theorems.gradient_rule",
    "relu_independence": "specialization.theorems.relu_independence",
    "interpolation": "specialization.theorems.interpolation",
    "student_specialization": "specialization.theorems.student_specialization",
    "prunable_students": "specialization.theorems.prunable_students",
    "polynomial_samples": "specialization.theorems.polynomial_samples",
    "teacher_aware_samples": "specialization.theorems.teacher_aware_samples",
    "noisy_recovery": "specialization.theorems.noisy_recovery",
    "spherical_push": "specialization.theorems.spherical_push",
    "norm_ratio": "specialization.theorems.symmetry_breaking",
    "negative_feedback": "specialization.theorems.negative_feedback",
    # inductive bias
    "sector_gain": "bias.sectors",
    "sector": "bias.sectors",
    "extremal_sectors": "bias.sectors",
    "extremal_directions": "bias.extremal",
    "neuron_sectors": "bias.early_phase",
    "separability": "bias.separability",
    "feature_separability": "bias.features",
    "max_margin": "bias.max_margin",
    "limit_distance": "bias.limit",
    "two_extremal_directions": "bias.theorems.two_extremal_directions",
    "absorbing_sectors": "bias.theorems.absorbing_sectors",
    "balanced_neurons": "bias.theorems.balanced_neurons",
    "max_margin_neurons": "bias.theorems.max_margin_neurons",
    "learnt_function": "bias.theorems.learnt_function",
    "kkt_point": "bias.theorems.kkt_point",
    # linear distillation
    "transfer": "distillation.transfer",
    "soft_labels": "distillation.transfer",
    "from_labels": "distillation.transfer",
    "angle": "distillation.angles",
    "signed_angle": "distillation.angles",
    "distilled": "distillation.closed_form",
    # the laboratory
    "Verdict": "lab.theorem",
    "Check": "lab.theorem",
    "Finding": "lab.theorem",
    "find_study": "lab.catalogue",
    "find_theorem": "lab.catalogue",
    "run_study": "lab.runner",
    "Local": "lab.engines.local",
    "Dask": "lab.engines.dask",
    "UserError": "errors",
    "RunStopped": "errors",
}
__all__ = list(_DOOR)


def __getattr__(name: str):
    if name not in _DOOR:
        raise AttributeError(f"module 'relulab' has no attribute {name!r}")
    return getattr(import_module(f"relulab.{_DOOR[name]}"), name)


def __dir__() -> list[str]:
    return __all__
