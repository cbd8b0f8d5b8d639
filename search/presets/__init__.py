"""The shipped profiles, as data: `default`, and `seeds` for the five seed systems."""
