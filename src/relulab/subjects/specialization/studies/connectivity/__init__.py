"""Paths of low loss between students (SS appendix E)."""
