"""The mean dynamics of LM theorem 2 beside SGD."""
