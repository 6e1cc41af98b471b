"""Angle distributions of transfer tasks, and points in the plane that follow them (T5 figures 5.1 and 5.2)."""
