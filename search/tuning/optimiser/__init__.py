"""Find better weights on the candidate pools."""
