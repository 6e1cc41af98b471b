"""Inputs and tasks: where the points come from and what the teacher says of them."""
