"""Inputs that every subject can use, one file per kind."""
