"""Specialization: when the nodes of a student network come to match the nodes of a ReLU teacher (LM, SS, S0)."""

from typing import TYPE_CHECKING

from relulab.core.door import opened

if TYPE_CHECKING:
    from relulab.subjects.specialization.instruments.alignment import alignment as alignment
    from relulab.subjects.specialization.instruments.correlation import best_match as best_match
    from relulab.subjects.specialization.instruments.correlation import correlation as correlation
    from relulab.subjects.specialization.instruments.correlation import layer_correlations as layer_correlations
    from relulab.subjects.specialization.instruments.correlation import recovered as recovered
    from relulab.subjects.specialization.instruments.correlation import rho_mean as rho_mean
    from relulab.subjects.specialization.instruments.fan_out import fan_out as fan_out
    from relulab.subjects.specialization.instruments.history import focus as focus
    from relulab.subjects.specialization.instruments.history import focus_shifts as focus_shifts
    from relulab.subjects.specialization.instruments.history import history as history
    from relulab.subjects.specialization.instruments.history import recovered_at as recovered_at
    from relulab.subjects.specialization.instruments.mean_rank import mean_rank as mean_rank
    from relulab.subjects.specialization.instruments.observers import band_counts as band_counts
    from relulab.subjects.specialization.instruments.observers import kappa as kappa
    from relulab.subjects.specialization.instruments.observers import observers as observers
    from relulab.subjects.specialization.instruments.scatter import eta as eta
    from relulab.subjects.specialization.instruments.scatter import mu as mu
    from relulab.subjects.specialization.instruments.scatter import tau as tau
    from relulab.subjects.specialization.instruments.top_down import modulation as modulation
    from relulab.subjects.specialization.instruments.top_down import top_down as top_down
    from relulab.subjects.specialization.theorems.gradient_rule import gradient_rule as gradient_rule
    from relulab.subjects.specialization.theorems.interpolation import interpolation as interpolation
    from relulab.subjects.specialization.theorems.negative_feedback import negative_feedback as negative_feedback
    from relulab.subjects.specialization.theorems.noisy_recovery import noisy_recovery as noisy_recovery
    from relulab.subjects.specialization.theorems.norm_ratio import norm_ratio as norm_ratio
    from relulab.subjects.specialization.theorems.polynomial_samples import polynomial_samples as polynomial_samples
    from relulab.subjects.specialization.theorems.prunable_students import prunable_students as prunable_students
    from relulab.subjects.specialization.theorems.relu_independence import relu_independence as relu_independence
    from relulab.subjects.specialization.theorems.spherical_push import spherical_push as spherical_push
    from relulab.subjects.specialization.theorems.student_specialization import (
        student_specialization as student_specialization,
    )
    from relulab.subjects.specialization.theorems.teacher_aware_samples import (
        teacher_aware_samples as teacher_aware_samples,
    )
    from relulab.subjects.specialization.theorems.zero_contribution import zero_contribution as zero_contribution
    from relulab.subjects.specialization.tools.agreement import agreement as agreement
    from relulab.subjects.specialization.tools.augmentation import Augmented as Augmented
    from relulab.subjects.specialization.tools.augmentation import teacher_agnostic as teacher_agnostic
    from relulab.subjects.specialization.tools.augmentation import teacher_aware as teacher_aware
    from relulab.subjects.specialization.tools.box import Box as Box
    from relulab.subjects.specialization.tools.chance import chance_correlations as chance_correlations
    from relulab.subjects.specialization.tools.creases import creases as creases
    from relulab.subjects.specialization.tools.groups import groups as groups
    from relulab.subjects.specialization.tools.matching import one_to_one as one_to_one
    from relulab.subjects.specialization.tools.near_boundaries import NearBoundaries as NearBoundaries
    from relulab.subjects.specialization.tools.nodes import Nodes as Nodes
    from relulab.subjects.specialization.tools.nodes import lowest as lowest
    from relulab.subjects.specialization.tools.nodes import regular as regular
    from relulab.subjects.specialization.tools.nodes import regularized as regularized
    from relulab.subjects.specialization.tools.observation import Observer as Observer
    from relulab.subjects.specialization.tools.pruning import prune as prune
    from relulab.subjects.specialization.tools.teacher import teacher as teacher
else:
    __getattr__, __dir__, __all__ = opened(__name__)
