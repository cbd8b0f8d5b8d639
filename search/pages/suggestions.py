"""Example searches for someone who has not typed anything yet."""

from __future__ import annotations

from ingestion.identifiers import find_identifiers
from ingestion.models import Chunk, Document
from ingestion.models.library import Viewer
from search.models import Hide

LOOKED_AT = 8  # of the newest documents; a guess that leaves some choice
TITLES = 3
CODES = 2
MAX_CHARS = 48


def examples_for(viewer: Viewer) -> tuple[str, ...]:
    """Codes and titles out of the newest documents that `viewer` may read; one query."""
    newest = (
        Document.objects.visible_to(viewer)
        .filter(current__isnull=False)
        .exclude(pk__in=Hide.objects.filter(enabled=True, folded="").values("document"))
        .order_by("-created", "-pk")
        .values("pk")[:LOOKED_AT]
    )
    openings = (
        Chunk.objects.visible_to(viewer)
        .filter(document__in=newest, ordinal=0)
        .order_by("-document__created", "-document")
        .values_list("document__title", "text")
    )
    titles: dict[str, None] = {}
    codes: dict[str, None] = {}
    for title, text in openings:
        titles[title] = None
        found = next((one for one in find_identifiers(text) if one.distinctive), None)
        if found:
            codes[text[found.start : found.end]] = None
    return tuple(
        name
        for names, wanted in ((codes, CODES), (titles, TITLES))
        for name in [name for name in names if len(name) <= MAX_CHARS][:wanted]
    )
