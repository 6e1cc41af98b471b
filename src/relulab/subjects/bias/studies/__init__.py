"""Figures of IB as studies, one file each."""
