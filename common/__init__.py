"""Code shared by both apps, importing neither."""
