"""Teacher and student nodes in the plane (SS figure 3)."""
