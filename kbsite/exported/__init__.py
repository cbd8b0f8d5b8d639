"""A collection as a server of its own, read-only: `folder` writes it, `profile` its ranking;
`read_only` refuses changes.

`manage.py export_collection NAME --server DIR` and, in the folder, `manage.py serve_export`.
"""
