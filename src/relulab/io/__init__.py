"""Read and write files. Nothing in a file is ever unpickled or executed."""
