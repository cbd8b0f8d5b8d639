"""One module a signal, with all that is its own: its SQL, its words, and when it runs."""
