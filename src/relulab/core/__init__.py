"""What everything may use and nothing owns: errors, seeds, threads, small numerics."""
