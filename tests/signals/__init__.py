"""Parts of tests/signal_rounds.py."""
