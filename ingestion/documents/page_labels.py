"""The name of a place in a document: a page of it, or a slide."""

from __future__ import annotations

from django.utils.translation import gettext

from ingestion.parsing.page_pictures import is_deck


def page_label(page: int | None, media_type: str) -> str:
    """ "page 3", of a deck "slide 3"; empty for a document without pages."""
    if not page:
        return ""
    if is_deck(media_type):
        return gettext("slide %(page)d") % {"page": page}
    return gettext("page %(page)d") % {"page": page}
