"""LM figure 11: the matrices H* and β* before and after training."""
