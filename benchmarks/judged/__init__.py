"""Judged collections, and how well profiles rank them: `python -m benchmarks.judged`."""
