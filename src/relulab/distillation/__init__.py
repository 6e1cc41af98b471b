"""Linear distillation: what a student learns from a linear teacher's soft labels, how fast, and a bound (T5)."""

STUDIES = ()
THEOREMS = ()
INSTRUMENTS = ("angles", "closed_form")
