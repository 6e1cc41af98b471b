"""Building blocks of the instruments, theorems and studies of this subject."""
