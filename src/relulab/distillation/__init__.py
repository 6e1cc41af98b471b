"""Linear distillation: what a student learns from a linear teacher's soft labels, how fast, and a bound (T5)."""

STUDIES = ()
THEOREMS = (
    "strong_monotonicity",
    "transfer_risk_bound",
    "large_margin",
    "polynomial_rate",
    "approximate_students",
)
INSTRUMENTS = ("angles", "closed_form", "risk", "monotonicity")
