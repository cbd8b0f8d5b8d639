"""The lexical side of search: lexemes, term weights, languages, signatures."""
