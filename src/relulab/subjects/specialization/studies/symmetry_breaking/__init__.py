"""Students that share a residue, and one of them with a small advantage (S0 section 5.3)."""
