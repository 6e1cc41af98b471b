"""Tools shared by the instruments, theorems and studies of this subject."""
