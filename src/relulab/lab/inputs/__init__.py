"""The inputs that any subject may use, one file a kind."""
