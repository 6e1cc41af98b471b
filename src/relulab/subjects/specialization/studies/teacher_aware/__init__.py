"""Teacher-aware versus teacher-agnostic training points (SS figure 9)."""
