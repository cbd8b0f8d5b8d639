"""Facets of a search (collections, types, languages with document counts), and example searches."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from django.conf.locale import LANG_INFO
from django.db.models import Count
from django.utils.translation import gettext

from ingestion.files.filetypes import SUPPORTED
from ingestion.identifiers import find_identifiers
from ingestion.models import Chunk, Document
from ingestion.models.library import Viewer
from search.models import Hide

EXAMINED = 8  # newest documents for examples; a guess that leaves some choice
TITLES = 3
CODES = 2
MAX_CHARS = 48
_TYPE_LABELS = {kind.media_type: kind.label for kind in SUPPORTED.values()}


@dataclass(frozen=True, slots=True)
class Option:
    """A facet value: as in the address, its label, and the number of its documents."""

    value: str
    label: str
    documents: int


@dataclass(frozen=True, slots=True)
class Facets:
    """The values of all readable documents, ordered by label; `documents` is the total."""

    collections: tuple[Option, ...]
    types: tuple[Option, ...]
    languages: tuple[Option, ...]
    documents: int


def facets_for(viewer: Viewer) -> Facets:
    """The facets of the searchable documents of `viewer`; one query."""
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
    """The common name of a media type."""
    label = _TYPE_LABELS.get(media_type, media_type)
    return label[:1].upper() + label[1:]


def language_label(code: str) -> str:
    """The name of a language; its code if unknown."""
    return gettext(str(LANG_INFO.get(code, {}).get("name", code)))


def examples_for(viewer: Viewer) -> tuple[str, ...]:
    """Example searches: codes and titles of the newest documents of `viewer`; one query."""
    newest = (
        Document.objects.visible_to(viewer)
        .filter(current__isnull=False)
        .exclude(pk__in=Hide.objects.filter(enabled=True, folded="").values("document"))
        .order_by("-created", "-pk")
        .values("pk")[:EXAMINED]
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


def _options(counts: Counter[tuple[str, str]]) -> tuple[Option, ...]:
    options = (Option(value, label, count) for (value, label), count in counts.items())
    return tuple(sorted(options, key=lambda option: (option.label.casefold(), option.value)))
