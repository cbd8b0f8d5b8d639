"""How a question is answered: asked, settled, found, ranked, given back. Read `search.pipeline`."""
