"""Theorems, lemmas and corollaries of T5, one file each."""
