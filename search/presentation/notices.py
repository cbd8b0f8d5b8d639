"""Notices on a search: its correction, its language, what could not run, is hidden, was relaxed."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from django.utils.formats import number_format
from django.utils.text import Truncator
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _

from ingestion.models import Collection, Document
from ingestion.models.collections import language_name
from ingestion.models.visibility import Viewer
from search.domain import Candidates, Query, Signal, Stage
from search.query.language import OtherLanguage
from search.query.parse import QUOTES
from search.retrieval import Filters
from search.retrieval.facets import with_key
from search.retrieval.phrases import MOST_CHECKED
from search.signals import registry

MOST_LANGUAGES = 3  # that a sentence names
# Texts of modules whose others are not for readers, or that are pure, as `search.ranking`.
WRITTEN_ELSEWHERE = (
    _("it is pinned to this question"), _("its title or heading has all words of the question"),
    _("it defines %(name)s"), _("its title names %(name)s"),
    _("its heading names %(name)s"), _("its text names %(name)s"),
    _("its title names a part of %(name)s"), _("its heading names a part of %(name)s"),
    _("its text names a part of %(name)s"), _("signals that found it"),
    _("found by meaning and by keywords"), _("share beside the reranker"),
    _("similarity to the first results"), _("not current: behind the document in force"),
    # Texts of documents and the upload page, whose modules are for staff; and of a language.
    _("Waiting"), _("Reading"), _("Cutting"), _("Indexing"), _("Ready"), _("Failed"), _("No file"),
    _("Upload files"), _("Read it"), _("Search it"), _("Chinese"),
)  # fmt: skip


def unavailable(step: Signal | Stage) -> str:
    """A sentence on a search without this signal or stage."""
    if isinstance(step, Stage):
        return gettext("The reranker is unavailable; showing the order without it.")
    if part := registry.part(step):
        return str(part.unavailable)
    text = gettext("The signal “%(name)s” is not installed; showing other matches.")
    return text % {"name": step.value}


def correction(query: str, typed: str) -> str:
    """A sentence on the search for a misspelt query's correction; empty if none was typed."""
    text = gettext("Results for “%(query)s”, because nothing is spelt “%(typed)s”.")
    words = zip(typed.split(), query.split(), strict=False)
    changed = "”, “".join(word.strip(QUOTES) for word, other in words if word != other)
    return text % {"query": query, "typed": changed} if typed else ""


def language_gap(other: OtherLanguage | None) -> str:
    """A sentence on a question's language that neither the texts nor the model know, or empty."""
    if other is None or other.is_crossed:
        return ""
    text = gettext(
        "This library is in %(texts)s; your question is in %(question)s. Ask in %(first)s."
    )
    names = [language_name(code) for code in (other.question, *other.texts[:MOST_LANGUAGES])]
    return text % {"texts": ", ".join(names[1:]), "question": names[0], "first": names[1]}


MOST_NAMED = 3
MOST_NAMED_CHARS = 60
# Short names that only their symbol tells apart, which Postgres' parsers drop: A*, C++, F#.
_NAMED_BY_SYMBOL = re.compile(r"(?<!\S)[^\W\d_]{1,3}[*+#]{1,2}(?![^\s?!.,;:])")


def loosened(query: Query) -> tuple[str, ...]:
    """Sentences on the phrases and exclusions of a query that were relaxed; none if none was."""
    sentences = []
    if query.strict is not None:
        sentences.append(_relaxation(query.strict))
    if query.loose_phrases:
        text = gettext("The quotes around %(phrases)s were read as text and require nothing.")
        sentences.append(text % {"phrases": _quoted(query.loose_phrases)})
    if query.ignored:
        text = gettext("The hyphen before %(words)s was read as text and excludes nothing.")
        sentences.append(text % {"words": _quoted(query.ignored)})
    return tuple(sentences)


def left_out(candidates: Candidates) -> tuple[str, ...]:
    """Sentences on the parts of a question that the search ignored; none if it used all."""
    sentences, query = [], candidates.query
    is_plain = query.strict is None and not query.phrases
    if is_plain and (names := _NAMED_BY_SYMBOL.findall(query.text)):
        text = gettext("Without quotes symbols do not count. With quotes they do: %(names)s")
        sentences.append(text % {"names": _quoted(names)})
    if candidates.unread:
        text = ngettext(
            "Too long for matching by meaning: the last word was left out.",
            "Too long for matching by meaning: the last %(count)d words were left out.",
            candidates.unread,
        )
        sentences.append(text % {"count": candidates.unread})
    if candidates.left_out:
        text = ngettext(
            "Too many different words for keywords: the most common one was left out.",
            "Too many different words for keywords: the %(count)d most common ones were left out.",
            candidates.left_out,
        )
        sentences.append(text % {"count": candidates.left_out})
    if candidates.unchecked:
        text = gettext(
            "More than %(most)s passages contain all words of %(phrases)s; only that many were "
            "searched for the phrase. Add a rarer word to it, or a filter."
        )
        phrases = (candidates.query.strict or candidates.query).phrases
        most = number_format(MOST_CHECKED, force_grouping=True)
        sentences.append(text % {"most": most, "phrases": _quoted(phrases)})
    return tuple(sentences)


def hiding_notes(hidden: frozenset[int], viewer: Viewer) -> tuple[str, ...]:
    """A note with the hidden documents, for viewers who may edit hides and read them."""
    if not hidden or viewer is None or not viewer.has_perm("search.change_hide"):
        return ()
    rows = Document.objects.visible_to(viewer).filter(pk__in=hidden).order_by("title")
    titles = [f"“{title}”" for title in rows.values_list("title", flat=True)]
    text = gettext("Hidden from this question: %(titles)s.")
    return (text % {"titles": ", ".join(titles)},) if titles else ()


def unreadable_notes(filters: Filters, names: Sequence[str], viewer: Viewer) -> Iterator[str]:
    """A note for each kind of filter with a name that the viewer cannot read: the same, without
    the name, for missing and hidden ones. `names` are further collections. A query a kind.
    """
    if filters.collections or names:
        rows = Collection.objects.visible_to(viewer).values_list("slug", "name")
        known = {each.casefold() for row in rows for each in row}
        # A parameter is the slug to the letter; `collection:` takes a name, too, in any case.
        if {*filters.collections} - dict(rows).keys() or {*map(str.casefold, names)} - known:
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


def _relaxation(strict: Query) -> str:
    """The reason why the phrases and exclusions were relaxed."""
    if not strict.phrases:
        text = gettext("Every result contains %(words)s, so nothing was excluded.")
    elif strict.excluded:
        text = gettext("No passage contains %(phrases)s without %(words)s. Showing similar ones.")
    elif len(strict.phrases) == 1:
        text = gettext("No passage contains the exact words %(phrases)s. Showing similar ones.")
    else:
        text = gettext("No passage contains all of %(phrases)s. Showing similar ones.")
    return text % {"phrases": _quoted(strict.phrases), "words": _quoted(strict.excluded)}


def _quoted(texts: Sequence[str]) -> str:
    """The first few texts in quotes, shortened, and whether there are more."""
    quotes = [f"“{Truncator(text).chars(MOST_NAMED_CHARS)}”" for text in texts[:MOST_NAMED]]
    return ", ".join(quotes + ["…"] * (len(texts) > MOST_NAMED))
