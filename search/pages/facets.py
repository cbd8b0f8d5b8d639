"""Facets of a search (collections, types, metadata, ...) with document counts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from operator import itemgetter
from pathlib import PurePosixPath

from django.db.models import Count, Q, QuerySet
from django.utils.translation import gettext

from ingestion.files.filetypes import TYPE_LABELS
from ingestion.metadata import FOLDER, Metadata, texts
from ingestion.models import Document
from ingestion.models.collections import language_name
from ingestion.models.documents import DATED
from ingestion.models.visibility import Viewer
from search.retrieval import facets
from search.retrieval.facets import Facet
from search.retrieval.filters import searchable
from search.retrieval.metadata_filters import top_values

# Guesses: the keys of most documents, and of each key its most frequent values. A search can name
# any other.
MOST_KEYS = 10
MOST_VALUES = 10

FILED = Q(metadata__has_key=FOLDER)
MAX_HINT = 300  # characters of a collection's description, a guess


@dataclass(frozen=True, slots=True)
class Option:
    """A facet value: as in the address, its label, and the number of its documents.

    `icon` and `hint` are a collection's icon and description.
    """

    value: str
    label: str
    documents: int
    icon: str = ""
    hint: str = ""


Options = tuple[Option, ...]


@dataclass(frozen=True, slots=True)
class KeyFacet:
    """A metadata key with some of its values, as in the address."""

    key: str
    options: tuple[Option, ...]

    @property
    def label(self) -> str:
        """The key for display: part_number is “Part number”."""
        return self.key.replace("_", " ").replace("-", " ").capitalize()


@dataclass(frozen=True, slots=True)
class Facets:
    """The values of all readable documents, ordered by label.

    `documents` is their number, `dated` the number that may not be current. `metadata` has the most
    frequent values of the keys that readable collections name.
    """

    collections: tuple[Option, ...]
    types: tuple[Option, ...]
    languages: tuple[Option, ...]
    documents: int
    metadata: tuple[KeyFacet, ...] = ()
    dated: int = 0


def facets_for(viewer: Viewer) -> Facets:
    """The facets of the searchable documents of `viewer`: see `facets_among`."""
    return facets_among(searchable(viewer))


def facets_among(searchable: QuerySet[Document]) -> Facets:
    """The facets of these documents.

    One query, and a second one for the metadata keys of collections, and for folders.
    """
    rows = (
        searchable.order_by()
        .values_list(
            "collection__slug", "collection__name", "collection__metadata_keys",
            "collection__icon", "collection__description", "current__media_type", "language",
        )
        .annotate(documents=Count("pk"), dated=Count("pk", DATED), filed=Count("pk", FILED))
    )  # fmt: skip
    keys: set[str] = set()
    collections: Counter[tuple[str, str]] = Counter()
    types: Counter[tuple[str, str]] = Counter()
    languages: Counter[tuple[str, str]] = Counter()
    hints: dict[str, tuple[str, str]] = {}
    dated_documents = 0
    for slug, name, meta_keys, icon, description, media_type, language, documents, *more in rows:
        dated_documents += more[0]
        keys.update(meta_keys, [FOLDER] if more[1] else [])
        hints[slug] = icon, description[:MAX_HINT]
        collections[slug, name] += documents
        types[media_type, type_label(media_type)] += documents
        if language:
            languages[language, language_name(language)] += documents
    return Facets(
        collections=tuple(
            replace(one, icon=hints[one.value][0], hint=hints[one.value][1])
            for one in _options(collections)
        ),
        types=_options(types),
        languages=_options(languages),
        documents=collections.total(),
        metadata=_key_facets(searchable, keys) if keys else (),
        dated=dated_documents,
    )


def with_others(matching: Facets, whole: Facets, chosen: Collection[str]) -> Facets:
    """The facets of the matching documents, and the other values beside each chosen one.

    Those have no count (0): the number of documents that they would add is unknown. `chosen` are
    the values of all facets; `whole` are the facets of all searchable documents.
    """
    keys = {facet.key: facet.options for facet in matching.metadata}
    every = {facet.key: facet.options for facet in whole.metadata}
    metadata = {key: _with_others(keys.get(key, ()), every.get(key, ()), chosen) for key in every}
    return Facets(
        collections=_with_others(matching.collections, whole.collections, chosen),
        types=_with_others(matching.types, whole.types, chosen),
        languages=_with_others(matching.languages, whole.languages, chosen),
        documents=matching.documents,
        metadata=tuple(KeyFacet(key, each) for key, each in metadata.items() if each),
        dated=matching.dated,
    )


def _with_others(options: Options, every: Options, chosen: Collection[str]) -> Options:
    if not any(option.value in chosen for option in every):
        return options
    counts = {option.value: option.documents for option in options}
    return tuple(replace(option, documents=counts.get(option.value, 0)) for option in every)


def offered_by_parts(
    documents: Sequence[int], viewer: Viewer, *, chosen: Mapping[str, Sequence[str]]
) -> list[tuple[Facet, tuple[Option, ...]]]:
    """The facets of parts with the keys to choose among these documents, without the `chosen`."""
    return [
        (facet, tuple(Option(*key) for key in keys))
        for facet in facets.installed()
        if (keys := facet.offered(documents, viewer, chosen=chosen[facet.name], most=MOST_VALUES))
    ]


def chosen_of_parts(
    chosen: Mapping[str, Sequence[str]], viewer: Viewer
) -> list[tuple[Facet, tuple[Option, ...]]]:
    """The facets of parts that a reader filters by, with the keys, named by readable documents.

    A query each. A key that no readable document has is named by itself.
    """
    rows = []
    for facet in facets.installed():
        if keys := chosen[facet.name]:
            options = {value[0]: Option(*value) for value in facet.named(keys, viewer)}
            rows.append((facet, tuple(options.get(key, Option(key, key, 0)) for key in keys)))
    return rows


def metadata_facets(metadata: Metadata) -> tuple[KeyFacet, ...]:
    """A document's metadata by label, without its folders.

    Each value has the filter for the documents that share it.
    """
    facets = (
        KeyFacet(key, tuple(Option(f"{key}:{text}", text, 1) for text in texts(value)))
        for key, value in metadata.items()
        if key != FOLDER
    )
    return tuple(sorted(facets, key=lambda one: one.label))


def folder_options(metadata: Metadata) -> tuple[Option, ...]:
    """The folders of an imported document, from the outermost on, each with its filter."""
    return tuple(
        Option(f"{FOLDER}:{path}", PurePosixPath(path).name, 1)
        for path in texts(metadata.get(FOLDER, []))
    )


def type_label(media_type: str) -> str:
    """The common name of a media type, or the unknown type itself."""
    label = gettext(TYPE_LABELS.get(media_type, ""))
    return label[:1].upper() + label[1:] or media_type


def _key_facets(searchable: QuerySet[Document], keys: set[str]) -> tuple[KeyFacet, ...]:
    """The facets of the keys, ordered by label."""
    rows = top_values(searchable, keys, most=MOST_VALUES)
    facets = [
        KeyFacet(key, tuple(Option(f"{key}:{text}", text, count) for _, text, count in values))
        for key, values in groupby(rows, itemgetter(0))
    ]
    facets.sort(key=lambda facet: -sum(option.documents for option in facet.options))
    return tuple(sorted(facets[:MOST_KEYS], key=lambda facet: facet.label))


def _options(counts: Counter[tuple[str, str]]) -> tuple[Option, ...]:
    options = (Option(value, label, count) for (value, label), count in counts.items())
    return tuple(sorted(options, key=lambda option: (option.label.casefold(), option.value)))
