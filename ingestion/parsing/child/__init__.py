"""The child process that parses one file: its walls and limits, and the worker's side of it."""
