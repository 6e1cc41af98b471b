"""Teacher-aware against teacher-agnostic training points (SS figure 9)."""
