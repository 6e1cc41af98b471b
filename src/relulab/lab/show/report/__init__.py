"""The static report: read from the files of runs and checks alone, written as pages that need no network."""

from relulab.lab.show.report.build import build

__all__ = ["build"]
