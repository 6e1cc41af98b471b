"""Loss and correlation of deep students versus the number of training points (SS figure 6)."""
