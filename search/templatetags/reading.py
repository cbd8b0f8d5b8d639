"""Template tags for a reader's own things and for what collections and documents are shown by."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django import template
from django.urls import reverse

from ingestion.metadata import tags_of
from ingestion.models import Document
from ingestion.models.library import ICONS
from search.readers import saving
from search.readers.models import SavedSearch

register = template.Library()


@register.simple_tag(takes_context=True)
def is_favourite(context: Mapping[str, Any], document: Document) -> bool:
    """Whether the page's reader has starred the document; one query."""
    return saving.is_favourite(context["request"].user, document)


@register.simple_tag(takes_context=True)
def feed_address(context: Mapping[str, Any], search: SavedSearch) -> str:
    """The absolute address of a saved search's feed, with its secret."""
    path = reverse("search:saved-search-feed", args=(search.public_id, search.feed_key))
    address: str = context["request"].build_absolute_uri(path)
    return address


@register.filter
def tags(metadata: Mapping[str, Any]) -> list[str]:
    """The tags of a document's metadata."""
    return tags_of(metadata)


@register.inclusion_tag("search/parts/icon.html")
def collection_icon(icon: str) -> dict[str, str]:
    """A collection's icon: a packaged drawing by its name, or an emoji; nothing if empty."""
    return {"icon": icon, "named": icon if icon in ICONS else ""}
