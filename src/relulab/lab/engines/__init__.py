"""Engines: ways to run independent units, with the same answers from each."""
