"""The index: all studies, theorems, instruments and measurements of all subjects, read without importing them."""

from relulab.lab.index.contents import entries, entry, matching
from relulab.lab.index.entry import Entry, Subject
from relulab.lab.index.problems import PROBLEMS
from relulab.lab.index.subjects import papers, subjects

__all__ = ["PROBLEMS", "Entry", "Subject", "entries", "entry", "matching", "papers", "subjects"]
