"""Alignment at zero gradient against the number of points (beyond SS)."""
