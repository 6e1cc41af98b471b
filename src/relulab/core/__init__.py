"""Shared foundations: errors, random seeds, threads and small numerical helpers."""
