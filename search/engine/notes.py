"""Notes on a search: hidden documents, names in its filters that the viewer cannot read."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from django.utils.translation import gettext

from ingestion import models
from ingestion.models import Document
from ingestion.models.visibility import Viewer
from search.retrieval import Filters
from search.retrieval.facets import with_key

MAY_HIDE = "search.change_hide"


def hiding_notes(hidden: Collection[int], viewer: Viewer) -> tuple[str, ...]:
    """A note with the hidden documents, for viewers who may edit hides and read them."""
    if not hidden or viewer is None or not viewer.has_perm(MAY_HIDE):
        return ()
    rows = Document.objects.visible_to(viewer).filter(pk__in=hidden).order_by("title")
    titles = [f"“{title}”" for title in rows.values_list("title", flat=True)]
    text = gettext("Hidden from this question: %(titles)s.")
    return (text % {"titles": ", ".join(titles)},) if titles else ()


def unreadable_notes(filters: Filters, names: Sequence[str], viewer: Viewer) -> Iterator[str]:
    """A note for each kind of filter with a name that the viewer cannot read: the same, without
    the name, for missing and hidden ones. `names` are further collections. A query a kind.
    """
    if names := (*filters.collections, *names):
        rows = models.Collection.objects.visible_to(viewer).values_list("slug", "name")
        known = {each.casefold() for row in rows for each in row}
        if not known.issuperset(map(str.casefold, names)):
            yield gettext("A collection that you named does not exist, or you may not read it.")
    documents = Document.objects.visible_to(viewer)
    ids = set(filters.documents)
    if ids and documents.filter(public_id__in=ids).count() < len(ids):
        yield gettext("A document that you named does not exist, or you may not read it.")
    keys = {each.key for each in filters.metadata}
    if unknown := [key for key in keys if not documents.filter(metadata__has_key=key).exists()]:
        text = gettext("No document that you may read has the metadata key %(keys)s.")
        yield text % {"keys": ", ".join(sorted(unknown))}
    if any(not documents.filter(pk__in=with_key(*each)).exists() for each in filters.facets):
        yield gettext("No document that you may read has the concept that you named.")
