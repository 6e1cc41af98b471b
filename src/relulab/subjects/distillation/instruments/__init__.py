"""Instruments: pure functions from networks and data to numbers."""
