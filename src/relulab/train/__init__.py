"""Training: one loop for all networks, with optimizers, schedules, losses, probes and checkpoints."""
