"""SS theorems 3 and 4: number of points versus K, d and ε."""
