"""Theorems and lemmas of IB, one file each."""
