"""What a network makes of two kinds of digits (IB figures 3 and 4)."""
