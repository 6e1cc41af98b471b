"""Reading and writing of a user's files. Nothing in a file is ever unpickled or run."""
