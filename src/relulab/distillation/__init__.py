"""Linear distillation: what a student learns from a linear teacher's soft labels, how fast, and a bound (T5)."""

STUDIES = ("angular_alignment", "optimisation_bias", "monotone_learners", "risk_against_bound")
THEOREMS = (
    "shallow_student",
    "deep_student",
    "strong_monotonicity",
    "transfer_risk_bound",
    "large_margin",
    "polynomial_rate",
    "approximate_students",
)
INSTRUMENTS = ("angles", "closed_form", "deep_limit", "risk", "monotonicity")
