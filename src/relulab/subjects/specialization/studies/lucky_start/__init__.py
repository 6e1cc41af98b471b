"""Students whose first nodes start near the teacher's: which fan-outs grow, and which vanish (LM figure 7)."""
