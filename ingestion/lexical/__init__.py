"""U4: a chunk's lexemes, term weights and signature."""
