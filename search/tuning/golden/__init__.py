"""Golden queries and judgements: entered by hand, imported, exported, generated."""
