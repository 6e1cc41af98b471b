"""How far from the conditions of IB theorem 1 networks still find the max-margin directions (ours)."""
