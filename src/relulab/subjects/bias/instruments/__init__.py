"""Instruments: pure functions that compute numbers from networks and data, one file each."""
