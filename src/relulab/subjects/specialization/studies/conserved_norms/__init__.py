"""Norms of weights before BatchNorm (LM theorem 3)."""
