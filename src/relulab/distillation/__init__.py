"""Linear distillation: what a student learns from a linear teacher's soft labels, how fast, and a bound (T5)."""

STUDIES = ()
THEOREMS = ("shallow_student", "deep_student")
INSTRUMENTS = ("angles", "closed_form", "deep_limit")
