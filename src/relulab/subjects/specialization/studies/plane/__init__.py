"""Students in the plane (SS figure 3)."""
