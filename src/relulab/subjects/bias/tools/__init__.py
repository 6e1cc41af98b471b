"""What this subject's instruments, theorems and studies are made of."""
