"""Bytes -> Blocks. `child.sandbox.parse_file` reads one stored file in a limited child process.

A new format takes a module of `formats` with a parser, `PARSER`, a line in `registry`,
and a type in `ingestion.files.filetypes`; `protocol` says what a parser returns.
"""
