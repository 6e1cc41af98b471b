"""How results look: figures, animations, words and the report."""
