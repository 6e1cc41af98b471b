"""Features of two kinds of digits in a convolutional network (IB figures 3 and 4)."""
