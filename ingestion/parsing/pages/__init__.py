"""Pictures of pages, and the places of a passage on them."""
