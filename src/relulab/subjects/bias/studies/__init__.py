"""Figures of IB as studies, one folder each."""
