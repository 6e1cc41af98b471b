"""Biases of BatchNorm in trained networks (LM figures 6 and 18)."""
