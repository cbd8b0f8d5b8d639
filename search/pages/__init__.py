"""The pages of readers: search, documents."""
