"""Gradient flows of networks and of weight vectors."""
