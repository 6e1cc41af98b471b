"""Fan-out of every student node against its best correlation with a teacher node (SS figure 5)."""
