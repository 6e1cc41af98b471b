"""Gradient flow of linear students: in the span of the points, by their product or by their factors."""
