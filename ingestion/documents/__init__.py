"""A document's versions, from stored file to searchable, the bin, and its parts."""
