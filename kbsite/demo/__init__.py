"""The demo: its documents, its site and its example searches."""
