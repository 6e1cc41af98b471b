"""The index: every study, theorem, instrument and measurement of every subject, known without importing any."""

from relulab.lab.index.contents import PROBLEMS, entries, entry, matching, papers, subjects
from relulab.lab.index.entry import Entry, Subject

__all__ = ["PROBLEMS", "Entry", "Subject", "entries", "entry", "matching", "papers", "subjects"]
