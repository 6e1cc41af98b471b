"""Linear distillation: students trained on the soft labels of a linear teacher, and bounds on their risk (T5)."""

from typing import TYPE_CHECKING

from relulab.core.door import opened

if TYPE_CHECKING:
    from relulab.subjects.distillation.flow.distillation_flow import distillation_flow as distillation_flow
    from relulab.subjects.distillation.instruments.angles import angle as angle
    from relulab.subjects.distillation.instruments.angles import signed_angle as signed_angle
    from relulab.subjects.distillation.instruments.closed_form import distilled as distilled
    from relulab.subjects.distillation.instruments.deep_limit import deep_limit as deep_limit
    from relulab.subjects.distillation.instruments.monotonicity import monotonicity as monotonicity
    from relulab.subjects.distillation.instruments.risk import angular_risk as angular_risk
    from relulab.subjects.distillation.instruments.risk import spherical_risk as spherical_risk
    from relulab.subjects.distillation.instruments.risk import transfer_risk as transfer_risk
    from relulab.subjects.distillation.theorems.approximate_students import approximate_students as approximate_students
    from relulab.subjects.distillation.theorems.close_vectors import close_vectors as close_vectors
    from relulab.subjects.distillation.theorems.deep_student import deep_student as deep_student
    from relulab.subjects.distillation.theorems.induced_flow import induced_flow as induced_flow
    from relulab.subjects.distillation.theorems.large_margin import large_margin as large_margin
    from relulab.subjects.distillation.theorems.loss_rate import loss_rate as loss_rate
    from relulab.subjects.distillation.theorems.nearly_balanced_student import (
        nearly_balanced_student as nearly_balanced_student,
    )
    from relulab.subjects.distillation.theorems.polynomial_rate import polynomial_rate as polynomial_rate
    from relulab.subjects.distillation.theorems.shallow_student import shallow_student as shallow_student
    from relulab.subjects.distillation.theorems.strong_monotonicity import strong_monotonicity as strong_monotonicity
    from relulab.subjects.distillation.theorems.student_in_span import student_in_span as student_in_span
    from relulab.subjects.distillation.theorems.transfer_risk_bound import transfer_risk_bound as transfer_risk_bound
    from relulab.subjects.distillation.tools.angle_laws import Angular as Angular
    from relulab.subjects.distillation.tools.angle_laws import PolynomialAngles as PolynomialAngles
    from relulab.subjects.distillation.tools.angle_laws import SphereAngles as SphereAngles
    from relulab.subjects.distillation.tools.balance_allowance import balance_allowance as balance_allowance
    from relulab.subjects.distillation.tools.balanced_start import balanced_factors as balanced_factors
    from relulab.subjects.distillation.tools.balanced_start import balanced_start as balanced_start
    from relulab.subjects.distillation.tools.balanced_start import distance_bound as distance_bound
    from relulab.subjects.distillation.tools.balanced_start import largest_start as largest_start
    from relulab.subjects.distillation.tools.bound import margin_bound as margin_bound
    from relulab.subjects.distillation.tools.bound import polynomial_bound as polynomial_bound
    from relulab.subjects.distillation.tools.bound import samples_needed as samples_needed
    from relulab.subjects.distillation.tools.bound import transfer_bound as transfer_bound
    from relulab.subjects.distillation.tools.descent import distillation_descent as distillation_descent
    from relulab.subjects.distillation.tools.estimated_angles import EstimatedAngles as EstimatedAngles
    from relulab.subjects.distillation.tools.learners import hard_target as hard_target
    from relulab.subjects.distillation.tools.learners import unbiased as unbiased
    from relulab.subjects.distillation.tools.nested import nested_students as nested_students
    from relulab.subjects.distillation.tools.risk_curve import angular_risks as angular_risks
    from relulab.subjects.distillation.tools.risk_curve import sample_risks as sample_risks
    from relulab.subjects.distillation.tools.transfer import from_labels as from_labels
    from relulab.subjects.distillation.tools.transfer import soft_labels as soft_labels
    from relulab.subjects.distillation.tools.transfer import transfer as transfer
else:
    __getattr__, __dir__, __all__ = opened(__name__)
