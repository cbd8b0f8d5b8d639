"""Sentences on what a search did not require: phrases, exclusions, words of a long question."""

from __future__ import annotations

from collections.abc import Sequence

from django.utils.formats import number_format
from django.utils.text import Truncator
from django.utils.translation import gettext, ngettext

from search.domain import (
    Candidates,
    Query,
)
from search.retrieval.phrases import MOST_CHECKED

MOST_NAMED = 3
MOST_NAMED_CHARS = 60


def loosened(query: Query) -> tuple[str, ...]:
    """Sentences on the phrases and exclusions of a query that were relaxed; none if none was."""
    sentences = []
    strict = query.strict
    if strict is not None:
        sentences.append(_relaxation(strict))
    wished = query.wished[len(strict.phrases) if strict else 0 :]
    if wished:
        text = gettext("The exact words %(phrases)s are preferred, not required.")
        sentences.append(text % {"phrases": _quoted(wished)})
    if query.ignored:
        text = gettext("The hyphen before %(words)s was read as text and excludes nothing.")
        sentences.append(text % {"words": _quoted(query.ignored)})
    return tuple(sentences)


def left_out(candidates: Candidates) -> tuple[str, ...]:
    """Sentences on the parts of a long question that the search ignored; none if it used all."""
    sentences = []
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
