"""U1: stored files, their types and downloads."""
