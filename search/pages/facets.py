"""What a viewer may narrow a search to: collections, types and languages, with document counts."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from django.conf.locale import LANG_INFO
from django.db.models import Count

from ingestion.files.filetypes import SUPPORTED
from ingestion.models import Document
from ingestion.models.library import Viewer

_TYPE_LABELS = {kind.media_type: kind.label for kind in SUPPORTED.values()}


@dataclass(frozen=True, slots=True)
class Option:
    """One value to narrow to: as it stands in the address, as people read it, and how many."""

    value: str
    label: str
    documents: int


@dataclass(frozen=True, slots=True)
class Facets:
    """Every value that some readable document has, by label; `documents` counts them all."""

    collections: tuple[Option, ...]
    types: tuple[Option, ...]
    languages: tuple[Option, ...]
    documents: int


def facets_for(viewer: Viewer) -> Facets:
    """What the searchable documents of `viewer` can be narrowed to; one query."""
    rows = (
        Document.objects.visible_to(viewer)
        .filter(current__isnull=False)
        .order_by()
        .values_list("collection__slug", "collection__name", "current__media_type", "language")
        .annotate(documents=Count("pk"))
    )
    collections: Counter[tuple[str, str]] = Counter()
    types: Counter[tuple[str, str]] = Counter()
    languages: Counter[tuple[str, str]] = Counter()
    for slug, name, media_type, language, documents in rows:
        collections[slug, name] += documents
        types[media_type, type_label(media_type)] += documents
        if language:
            languages[language, language_label(language)] += documents
    return Facets(
        collections=_options(collections),
        types=_options(types),
        languages=_options(languages),
        documents=collections.total(),
    )


def type_label(media_type: str) -> str:
    """A media type as people call it."""
    label = _TYPE_LABELS.get(media_type, media_type)
    return label[:1].upper() + label[1:]


def language_label(code: str) -> str:
    """A language's English name; the code itself where it is not known."""
    return str(LANG_INFO.get(code, {}).get("name", code))


def _options(counts: Counter[tuple[str, str]]) -> tuple[Option, ...]:
    options = (Option(value, label, count) for (value, label), count in counts.items())
    return tuple(sorted(options, key=lambda option: (option.label.casefold(), option.value)))
