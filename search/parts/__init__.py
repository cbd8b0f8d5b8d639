"""The optional parts of the search that ship with it: each is a Django app (`common.parts`)."""
