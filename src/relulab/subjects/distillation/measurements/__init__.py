"""Measurements that users run on their own files, one per file."""
