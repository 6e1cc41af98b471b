"""Fan-out of every student node versus its best correlation with a teacher node (SS figure 5)."""
