"""Input distributions, data sets and training tasks."""
