"""The search engine: request, settle, find, rank, respond. Start with `search.pipeline`."""
