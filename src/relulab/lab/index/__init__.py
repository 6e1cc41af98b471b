"""The index: all studies, theorems, instruments and measurements of all subjects, read without importing them."""

from relulab.lab.index.contents import PROBLEMS, entries, entry, matching, papers, subjects
from relulab.lab.index.entry import Entry, Subject

__all__ = ["PROBLEMS", "Entry", "Subject", "entries", "entry", "matching", "papers", "subjects"]
