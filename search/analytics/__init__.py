"""What searchers did: recorded, counted, and forgotten in time."""
