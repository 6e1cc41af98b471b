"""Top-down modulation of every node of deep students versus its best correlation (S0 figures 4 and 12)."""
