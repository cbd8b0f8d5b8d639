"""What a reader is shown of passages: results, snippets, a document's text, its sections."""
