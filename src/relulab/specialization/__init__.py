"""Specialisation: when students of a ReLU teacher come to match its nodes one by one (LM, SS, S0)."""

STUDIES = ("fan_out_correlation", "recovery", "recovery_order", "symmetry_breaking", "slow_escape")
THEOREMS = ("gradient_rule", "spherical_push", "symmetry_breaking", "negative_feedback")
INSTRUMENTS = ("correlation", "mean_rank", "fan_out", "top_down", "alignment", "observers")
