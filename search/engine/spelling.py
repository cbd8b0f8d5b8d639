"""Spelling of a response's query: what to suggest, and what to search instead."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from django.conf import settings

from search.engine import Request
from search.engine.find import scope_of
from search.engine.response import SearchResponse
from search.query.language import is_listed, text_languages
from search.query.spelling_correction import Neighbour, correctable, corrected
from search.retrieval.spelling_candidates import neighbours


def suggested(response: SearchResponse, request: Request) -> tuple[str, str]:
    """The corrected spelling to suggest, and the one to search instead; empty ones for none.

    Instead of a text without a match a less certain correction is searched, too.
    """
    near = _near(response, request)
    if not near:
        return "", ""
    most, names = settings.SEARCH_QUERY_CHARS, response.unknown
    suggestion = corrected(response.query, near, most, names=names)
    if not suggestion or request.choices.exact:
        return suggestion, ""
    sure = response.total > 0
    return suggestion, corrected(response.query, near, most, names=names, surely=sure)


def _near(response: SearchResponse, request: Request) -> Mapping[str, Sequence[Neighbour]]:
    """The words of the texts with a similar spelling, by each unknown word of the query.

    A word is unknown if neither the texts nor the word lists of their languages and of English have
    it: bread is not a misspelt broad. Beside one, so is a word of which the texts only have the
    stem: "managment comand". Empty for a question in another language.
    """
    # Without unknown words, those that the texts have would be asked for, and all be left out.
    if response.other_language or not response.unknown:
        return {}
    codes = {"en", *text_languages(response.ranking.candidates.readings)}
    words = [
        word.text
        for word in correctable(response.query, response.unknown)
        if not any(is_listed(word.text, code) for code in codes)
    ]
    known = {word.text for word in correctable(response.query)} - set(response.unknown)
    if known.issuperset(words):
        return {}
    scope = scope_of(response.query, request)
    return neighbours(words, scope, response.terms)
