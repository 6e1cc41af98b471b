"""Alignment at zero gradient versus the number of points (beyond SS)."""
