"""Students that share a residue, and one of them that gets a little more (S0 section 5.3)."""
