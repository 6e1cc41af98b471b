"""The measured transfer risk against its bound (T5 theorem 5.3)."""
