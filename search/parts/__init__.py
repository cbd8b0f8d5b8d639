"""The optional parts of the search. Each registers with the core, which imports none of them.

A part is a module or a package with a function `register`, called once when the site starts.
"""

from __future__ import annotations

from importlib import import_module

from django.conf import settings

# In the order of registration.
PARTS = ("concepts", "wordnet", "reranker", "qdrant", "experiments")


def is_installed(name: str) -> bool:
    """Whether the site has the part."""
    return name in settings.SEARCH_PARTS


def register_parts() -> None:
    """Register the parts that SEARCH_PARTS names."""
    for name in PARTS:
        if is_installed(name):
            import_module(f"search.parts.{name}").register()
