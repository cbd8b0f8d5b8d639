"""W: two published profiles before real searchers, and when one of them may be called better."""
