"""Golden queries and judgements: entered, exchanged, generated."""
