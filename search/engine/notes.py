"""Notes on a search: hidden documents, collections that the viewer cannot read."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from django.utils.translation import gettext

from ingestion import models
from ingestion.models import Document
from ingestion.models.collections import Viewer

MAY_HIDE = "search.change_hide"


def hiding_notes(hidden: Collection[int], viewer: Viewer) -> tuple[str, ...]:
    """A note with the hidden documents, for viewers who may edit hides and read them."""
    if not hidden or viewer is None or not viewer.has_perm(MAY_HIDE):
        return ()
    rows = Document.objects.visible_to(viewer).filter(pk__in=hidden).order_by("title")
    titles = [f"“{title}”" for title in rows.values_list("title", flat=True)]
    text = gettext("Hidden from this question: %(titles)s.")
    return (text % {"titles": ", ".join(titles)},) if titles else ()


def unreadable_notes(names: Sequence[str], viewer: Viewer) -> tuple[str, ...]:
    """A note if the viewer cannot read a collection that is named: the same, without its name, for
    a missing and a hidden one. One query, none without names.
    """
    if not names:
        return ()
    rows = models.Collection.objects.visible_to(viewer).values_list("slug", "name")
    known = {each.casefold() for row in rows for each in row}
    text = gettext("A collection that you named does not exist, or you may not read it.")
    return () if known.issuperset(map(str.casefold, names)) else (text,)
