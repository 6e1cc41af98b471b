"""Measurements: what a user runs on files of their own, one file each."""
