"""Studies of T5, one file each."""
