"""Training: SGD over many seeds and settings at once, and probes that record while it runs."""
