"""Hand edits of passages, and their transfer to new versions."""
