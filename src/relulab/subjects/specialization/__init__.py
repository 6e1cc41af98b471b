"""Specialization: when the nodes of a student network come to match the nodes of a ReLU teacher (LM, SS, S0)."""

from typing import TYPE_CHECKING

from relulab.core.door import opened

if TYPE_CHECKING:
    from relulab.subjects.specialization.instruments.alignment import alignment as alignment
    from relulab.subjects.specialization.instruments.batch_norm_bias import active_share as active_share
    from relulab.subjects.specialization.instruments.batch_norm_bias import negative_share as negative_share
    from relulab.subjects.specialization.instruments.correlation import best_match as best_match
    from relulab.subjects.specialization.instruments.correlation import correlation as correlation
    from relulab.subjects.specialization.instruments.correlation import layer_correlations as layer_correlations
    from relulab.subjects.specialization.instruments.correlation import recovered as recovered
    from relulab.subjects.specialization.instruments.correlation import rho_mean as rho_mean
    from relulab.subjects.specialization.instruments.expectation_gaps import expectation_gaps as expectation_gaps
    from relulab.subjects.specialization.instruments.fan_out import fan_out as fan_out
    from relulab.subjects.specialization.instruments.hessian_spectrum import hessian_spectrum as hessian_spectrum
    from relulab.subjects.specialization.instruments.history import focus as focus
    from relulab.subjects.specialization.instruments.history import focus_shifts as focus_shifts
    from relulab.subjects.specialization.instruments.history import history as history
    from relulab.subjects.specialization.instruments.history import recovered_at as recovered_at
    from relulab.subjects.specialization.instruments.layer_means import layer_means as layer_means
    from relulab.subjects.specialization.instruments.observers import band_counts as band_counts
    from relulab.subjects.specialization.instruments.observers import kappa as kappa
    from relulab.subjects.specialization.instruments.observers import observers as observers
    from relulab.subjects.specialization.instruments.overlap_constants import fall_off as fall_off
    from relulab.subjects.specialization.instruments.overlap_constants import lipschitz_constants as lipschitz_constants
    from relulab.subjects.specialization.instruments.overlap_ratios import overlap_ratios as overlap_ratios
    from relulab.subjects.specialization.instruments.overlaps import overlaps as overlaps
    from relulab.subjects.specialization.instruments.sampled_overlaps import sampled_overlaps as sampled_overlaps
    from relulab.subjects.specialization.instruments.scatter import eta as eta
    from relulab.subjects.specialization.instruments.scatter import mu as mu
    from relulab.subjects.specialization.instruments.scatter import tau as tau
    from relulab.subjects.specialization.instruments.svcca import svcca as svcca
    from relulab.subjects.specialization.instruments.top_down import modulation as modulation
    from relulab.subjects.specialization.instruments.top_down import top_down as top_down
    from relulab.subjects.specialization.instruments.top_down_norms import top_down_norms as top_down_norms
    from relulab.subjects.specialization.instruments.winner_ranks import mean_rank as mean_rank
    from relulab.subjects.specialization.instruments.winner_ranks import median_rank as median_rank
    from relulab.subjects.specialization.instruments.winner_ranks import winner_ranks as winner_ranks
    from relulab.subjects.specialization.theorems.batch_norm_gradient import batch_norm_gradient as batch_norm_gradient
    from relulab.subjects.specialization.theorems.bottom_bounds import bottom_bounds as bottom_bounds
    from relulab.subjects.specialization.theorems.conserved_norms import conserved_norms as conserved_norms
    from relulab.subjects.specialization.theorems.equal_width_recovery import (
        equal_width_recovery as equal_width_recovery,
    )
    from relulab.subjects.specialization.theorems.gradient_rule import gradient_rule as gradient_rule
    from relulab.subjects.specialization.theorems.interpolation import interpolation as interpolation
    from relulab.subjects.specialization.theorems.lipschitz_overlaps import lipschitz_overlaps as lipschitz_overlaps
    from relulab.subjects.specialization.theorems.lowest_layer import lowest_layer as lowest_layer
    from relulab.subjects.specialization.theorems.negative_feedback import negative_feedback as negative_feedback
    from relulab.subjects.specialization.theorems.node_gradient_rule import node_gradient_rule as node_gradient_rule
    from relulab.subjects.specialization.theorems.noisy_recovery import noisy_recovery as noisy_recovery
    from relulab.subjects.specialization.theorems.norm_ratio import norm_ratio as norm_ratio
    from relulab.subjects.specialization.theorems.over_realized_recovery import (
        over_realized_recovery as over_realized_recovery,
    )
    from relulab.subjects.specialization.theorems.polynomial_samples import polynomial_samples as polynomial_samples
    from relulab.subjects.specialization.theorems.prunable_students import prunable_students as prunable_students
    from relulab.subjects.specialization.theorems.quadratic_fall_off import quadratic_fall_off as quadratic_fall_off
    from relulab.subjects.specialization.theorems.relu_independence import relu_independence as relu_independence
    from relulab.subjects.specialization.theorems.separated_dynamics import separated_dynamics as separated_dynamics
    from relulab.subjects.specialization.theorems.separated_expectations import (
        separated_expectations as separated_expectations,
    )
    from relulab.subjects.specialization.theorems.small_overlaps import small_overlaps as small_overlaps
    from relulab.subjects.specialization.theorems.spherical_push import spherical_push as spherical_push
    from relulab.subjects.specialization.theorems.student_specialization import (
        student_specialization as student_specialization,
    )
    from relulab.subjects.specialization.theorems.teacher_aware_samples import (
        teacher_aware_samples as teacher_aware_samples,
    )
    from relulab.subjects.specialization.theorems.top_bounds import top_bounds as top_bounds
    from relulab.subjects.specialization.theorems.weight_magnitude import weight_magnitude as weight_magnitude
    from relulab.subjects.specialization.theorems.zero_contribution import zero_contribution as zero_contribution
    from relulab.subjects.specialization.tools.agreement import agreement as agreement
    from relulab.subjects.specialization.tools.augmentation import Augmented as Augmented
    from relulab.subjects.specialization.tools.augmentation import teacher_agnostic as teacher_agnostic
    from relulab.subjects.specialization.tools.augmentation import teacher_aware as teacher_aware
    from relulab.subjects.specialization.tools.box import Box as Box
    from relulab.subjects.specialization.tools.chance import chance_correlations as chance_correlations
    from relulab.subjects.specialization.tools.connection import Connection as Connection
    from relulab.subjects.specialization.tools.connection import connect as connect
    from relulab.subjects.specialization.tools.creases import creases as creases
    from relulab.subjects.specialization.tools.deep_teacher import deep_teacher as deep_teacher
    from relulab.subjects.specialization.tools.fine_tuning import fine_tuned as fine_tuned
    from relulab.subjects.specialization.tools.groups import groups as groups
    from relulab.subjects.specialization.tools.layer_biases import LayerBiases as LayerBiases
    from relulab.subjects.specialization.tools.layer_biases import batch_norm_biases as batch_norm_biases
    from relulab.subjects.specialization.tools.layer_observation import LayerObserver as LayerObserver
    from relulab.subjects.specialization.tools.luck_conv_teacher import luck_conv_teacher as luck_conv_teacher
    from relulab.subjects.specialization.tools.luck_teacher import luck_teacher as luck_teacher
    from relulab.subjects.specialization.tools.matching import one_to_one as one_to_one
    from relulab.subjects.specialization.tools.mean_dynamics import mean_dynamics as mean_dynamics
    from relulab.subjects.specialization.tools.module_observation import ModuleObserver as ModuleObserver
    from relulab.subjects.specialization.tools.near_boundaries import NearBoundaries as NearBoundaries
    from relulab.subjects.specialization.tools.nodes import Nodes as Nodes
    from relulab.subjects.specialization.tools.nodes import lowest as lowest
    from relulab.subjects.specialization.tools.nodes import regular as regular
    from relulab.subjects.specialization.tools.nodes import regularized as regularized
    from relulab.subjects.specialization.tools.observation import Observer as Observer
    from relulab.subjects.specialization.tools.pruning import prune as prune
    from relulab.subjects.specialization.tools.rewinding import rewind as rewind
    from relulab.subjects.specialization.tools.start_near import start_near as start_near
    from relulab.subjects.specialization.tools.teacher import teacher as teacher
    from relulab.subjects.specialization.tools.unit_groups import match as match
else:
    __getattr__, __dir__, __all__ = opened(__name__)
