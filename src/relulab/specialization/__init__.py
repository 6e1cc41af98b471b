"""Specialisation: when students of a ReLU teacher come to match its nodes one by one (LM, SS, S0)."""

STUDIES = ("fan_out_correlation", "plane", "recovery", "recovery_order")
THEOREMS = ("gradient_rule", "spherical_push")
INSTRUMENTS = ("correlation", "mean_rank", "fan_out", "top_down", "alignment", "observers")
