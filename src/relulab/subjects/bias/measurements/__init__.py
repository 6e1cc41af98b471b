"""Measurements that users run on their files, one file each."""
