"""Answers over HTTP: asked, streamed, read back, rated; and threads."""
