"""Gradient flow to the max-margin directions (IB theorem 1)."""
