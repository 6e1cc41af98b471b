"""Theorems, lemmas and corollaries of T5, one per file."""
