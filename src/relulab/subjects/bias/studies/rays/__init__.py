"""Two rays of neurons under SGD (IB figures 1 and 2)."""
