"""Training: one loop for every network, its optimizers, schedules and losses, probes that record, checkpoints."""
