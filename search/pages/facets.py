"""What a viewer may narrow a search to, with the number of documents of each value."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter

from django.conf.locale import LANG_INFO
from django.db.models import Count, QuerySet

from ingestion.files.filetypes import SUPPORTED
from ingestion.metadata import Metadata, texts
from ingestion.models import Document
from ingestion.models.library import Viewer
from search.retrieval.metadata import most_held

# Guesses: so many keys, those of most documents, and of each its most frequent values. A search
# may name any other.
MOST_KEYS = 10
MOST_VALUES = 10

_TYPE_LABELS = {kind.media_type: kind.label for kind in SUPPORTED.values()}


@dataclass(frozen=True, slots=True)
class Option:
    """One value to narrow to: as it stands in the address, as people read it, and how many."""

    value: str
    label: str
    documents: int


@dataclass(frozen=True, slots=True)
class KeyFacet:
    """A key of metadata and some of its values, as an address names them."""

    key: str
    options: tuple[Option, ...]

    @property
    def label(self) -> str:
        """The key as people read it: part_number is “Part number”."""
        return self.key.replace("_", " ").replace("-", " ").capitalize()


@dataclass(frozen=True, slots=True)
class Facets:
    """Every value that some readable document has, by label; `documents` counts them all.

    `metadata`: of the keys that readable collections name, the most frequent values alone.
    """

    collections: tuple[Option, ...]
    types: tuple[Option, ...]
    languages: tuple[Option, ...]
    documents: int
    metadata: tuple[KeyFacet, ...] = ()


def facets_for(viewer: Viewer) -> Facets:
    """What the searchable documents of `viewer` can be narrowed to.

    One query, and one more where a collection that holds some of them names keys of metadata.
    """
    searchable = Document.objects.visible_to(viewer).filter(current__isnull=False)
    rows = (
        searchable.order_by()
        .values_list(
            "collection__slug", "collection__name", "collection__metadata_keys",
            "current__media_type", "language",
        )
        .annotate(documents=Count("pk"))
    )  # fmt: skip
    keys: set[str] = set()
    collections: Counter[tuple[str, str]] = Counter()
    types: Counter[tuple[str, str]] = Counter()
    languages: Counter[tuple[str, str]] = Counter()
    for slug, name, named, media_type, language, documents in rows:
        keys.update(named)
        collections[slug, name] += documents
        types[media_type, type_label(media_type)] += documents
        if language:
            languages[language, language_label(language)] += documents
    return Facets(
        collections=_options(collections),
        types=_options(types),
        languages=_options(languages),
        documents=collections.total(),
        metadata=_key_facets(searchable, keys) if keys else (),
    )


def metadata_shown(metadata: Metadata) -> tuple[KeyFacet, ...]:
    """A document's own metadata by label, each value with what finds all documents that have it."""
    shown = (
        KeyFacet(key, tuple(Option(f"{key}:{text}", text, 1) for text in texts(value)))
        for key, value in metadata.items()
    )
    return tuple(sorted(shown, key=lambda one: one.label))


def type_label(media_type: str) -> str:
    """A media type as people call it."""
    label = _TYPE_LABELS.get(media_type, media_type)
    return label[:1].upper() + label[1:]


def language_label(code: str) -> str:
    """A language's English name; the code itself where it is not known."""
    return str(LANG_INFO.get(code, {}).get("name", code))


def _key_facets(searchable: QuerySet[Document], keys: set[str]) -> tuple[KeyFacet, ...]:
    """The facets of the keys, by label."""
    rows = most_held(searchable, keys, most=MOST_VALUES)
    facets = [
        KeyFacet(
            key,
            tuple(Option(f"{key}:{text}", text, count) for _, text, count in values),
        )
        for key, values in groupby(rows, itemgetter(0))
    ]
    facets.sort(key=lambda facet: -sum(option.documents for option in facet.options))
    return tuple(sorted(facets[:MOST_KEYS], key=lambda facet: facet.label))


def _options(counts: Counter[tuple[str, str]]) -> tuple[Option, ...]:
    options = (Option(value, label, count) for (value, label), count in counts.items())
    return tuple(sorted(options, key=lambda option: (option.label.casefold(), option.value)))
