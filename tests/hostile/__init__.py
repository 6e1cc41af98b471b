"""Hostile files and run folders, by kind, and a process with limits in which they are read."""
