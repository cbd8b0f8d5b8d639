"""U2: bytes -> Blocks. `child.sandbox.parse_file` reads one stored file in a limited child process.

A new format takes a module of `formats` with a parser, `PARSER` (see `protocol.Parser`), a line in
`formats.MODULES` and a type in `ingestion.files.filetypes`.
"""
