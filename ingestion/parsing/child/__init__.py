"""The child process that parses one file: its isolation and limits, and the worker's side."""
