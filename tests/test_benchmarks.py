"""Benchmarks that reach into the laboratory still run; their times are not judged."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]


def test_many_units_counts_what_joining_and_resuming_take():
    words = [sys.executable, str(ROOT / "benchmarks/many_units.py"), "2", "3"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=300)
    assert not done.returncode, done.stderr
    header, *rows = done.stdout.splitlines()
    assert header.startswith("units") and [row.split()[0] for row in rows] == ["2", "3"]
    assert all(float(number) >= 0 for row in rows for number in row.split())
