"""Gradient flows of networks and of weight vectors, followed to their ends."""
