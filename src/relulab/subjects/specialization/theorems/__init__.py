"""Theorems of LM, SS and S0, one file each."""
