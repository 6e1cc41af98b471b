"""Figures of LM, SS and S0 as studies, one file each."""
