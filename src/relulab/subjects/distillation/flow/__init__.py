"""Gradient flow of linear students, reduced to the span of the points: of the product or of all factors."""
