"""The admin of search: rules, synonyms, pins, hides; and the recorded searches."""

from search.admin import curated, searches  # noqa: F401 -- each registers its pages
