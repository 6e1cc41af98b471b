"""Specialisation: when students of a ReLU teacher come to match its nodes one by one (LM, SS, S0)."""

STUDIES = (
    "plane",
    "fan_out_correlation",
    "recovery",
    "recovery_order",
    "teacher_aware",
    "zero_gradient",
    "symmetry_breaking",
    "slow_escape",
    "misalignment",
)
THEOREMS = (
    "gradient_rule",
    "relu_independence",
    "interpolation",
    "student_specialization",
    "prunable_students",
    "polynomial_samples",
    "teacher_aware_samples",
    "noisy_recovery",
    "spherical_push",
    "symmetry_breaking",
    "negative_feedback",
)
INSTRUMENTS = ("correlation", "mean_rank", "fan_out", "top_down", "alignment", "observers", "scatter", "history")
