"""Sentences for people on how much of a document is searchable: see `domain.Completeness`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from django.utils.translation import gettext, ngettext, ngettext_lazy
from django.utils.translation import gettext_lazy as _

from ingestion.domain import ALL, Completeness, Gap, Unit, Why

if TYPE_CHECKING:
    from django.utils.functional import _StrOrPromise as StrOrPromise

Stored = Mapping[str, Any] | None
"""The column of a version; None if it is not known, as of versions of earlier releases."""

_COUNTED = {
    Unit.PAGE: ngettext_lazy("%(count)s page", "%(count)s pages", "count"),
    Unit.SHEET: ngettext_lazy("%(count)s sheet", "%(count)s sheets", "count"),
    Unit.SLIDE: ngettext_lazy("%(count)s slide", "%(count)s slides", "count"),
    Unit.CHAPTER: ngettext_lazy("%(count)s chapter", "%(count)s chapters", "count"),
    Unit.MESSAGE: ngettext_lazy("%(count)s message", "%(count)s messages", "count"),
    Unit.FILE: ngettext_lazy("%(count)s file", "%(count)s files", "count"),
    Unit.CELL: ngettext_lazy("%(count)s cell", "%(count)s cells", "count"),
    Unit.OUTPUT: ngettext_lazy("%(count)s output", "%(count)s outputs", "count"),
    Unit.CHARACTER: ngettext_lazy("%(count)s character", "%(count)s characters", "count"),
}
_SCANS = ngettext_lazy("%(count)s scan", "%(count)s scans", "count")
_OF_SCANS = {
    Why.NO_OCR: ngettext_lazy("%(count)s scan needs OCR", "%(count)s scans need OCR", "count"),
    Why.OCR_LIMIT: _SCANS,
    Why.OCR_FAILED: _SCANS,
}
_REASONS: dict[Why, StrOrPromise] = {
    Why.OCR_LIMIT: _("beyond OCR_PAGES"),
    Why.OCR_FAILED: _("OCR failed"),
    Why.PICTURE: _("only pictures, which are not read"),
    Why.DAMAGED: _("damaged or missing"),
    Why.ENCRYPTED: _("protected by a password"),
    Why.UNSUPPORTED: _("of an unsupported type"),
    Why.MISMATCH: _("of another type than its name says"),
    Why.LINK: _("a link to another file"),
    Why.NESTED: _("an archive nested too deeply"),
    Why.LIMIT: _("over a limit"),
    Why.EMBEDDED: _("embedded, and not read"),
    Why.NO_VALUE: _("a formula without a stored result"),
    Why.SHORTENED: _("shortened"),
    Why.DROPPED: _("lost while the file was read"),
    Why.UNDECODED: _("not decodable"),
    Why.BLANK: _("empty"),
    Why.WORDLESS: _("without text that OCR finds"),
    Why.HIDDEN: _("hidden"),
    Why.CUT_OFF: _("the file ends early"),
}


def summary(stored: Stored, *, with_places: bool = False) -> str:
    """A sentence on how much is searchable, with all gaps: "43 of 47 pages are searchable; ..."."""
    if stored is None:
        return gettext("It is not known if all is searchable: an earlier release read this file.")
    counts = Completeness.from_json(stored)
    gaps = (_gap(gap, with_places=with_places) for gap in counts.gaps)
    return "; ".join((_share(counts), *gaps)) + "."


def note(stored: Stored) -> str:
    """A short note that a document is incomplete; empty if it is complete, or that is not known."""
    if not stored or not stored["missing"]:
        return ""
    counts = Completeness.from_json(stored)
    is_of_units = counts.of({gap.why for gap in counts.losses})
    what = _share(counts) if is_of_units else _gap(counts.losses[0])
    return gettext("Incomplete: %(what)s") % {"what": what}


def _share(counts: Completeness) -> str:
    """How many of the units are searchable; a general sentence for formats without units."""
    if counts.unit is None or (counts.losses and not counts.of(ALL)):
        whole = gettext("All of it is searchable")
        return gettext("Not all of it is searchable") if counts.losses else whole
    text = ngettext(
        "%(kept)s of %(units)s is searchable", "%(kept)s of %(units)s are searchable", counts.total
    )
    units = _COUNTED[counts.unit] % {"count": counts.total}
    return text % {"kept": counts.with_text, "units": units}


def _gap(gap: Gap, *, with_places: bool = False) -> str:
    """ "4 scans need OCR", "2 files: damaged or missing"."""
    units = _OF_SCANS.get(gap.why, _COUNTED[gap.unit]) % {"count": gap.count}
    reason = _REASONS.get(gap.why, "")
    text = gettext("%(units)s: %(reason)s") % {"units": units, "reason": reason}
    text = {Why.NO_OCR: str(units), Why.CUT_OFF: str(reason)}.get(gap.why, text)
    if not with_places or not gap.places:
        return text
    more = gap.count - len(gap.places)
    others = [gettext("%(count)d more") % {"count": more}] if more > 0 else []
    return f"{text} ({', '.join((*gap.places, *others))})"
