"""Presentation of passages: results, snippets, a document's text, its sections."""
