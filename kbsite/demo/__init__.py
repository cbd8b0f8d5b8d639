"""The demo's parts: its documents, what it prepares, and its example searches."""
