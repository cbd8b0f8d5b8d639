"""Notices on a search: its correction, its language, signals that could not run."""

from __future__ import annotations

from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from ingestion.models.collections import language_name
from search.domain import Signal, Stage
from search.query.language import OtherLanguage
from search.query.parse import QUOTES
from search.signals import registry

MOST_LANGUAGES = 3  # that a sentence names
# Texts of modules whose others are not for readers, or that are pure, as `search.ranking`.
WRITTEN_ELSEWHERE = (
    _("it is pinned to this question"), _("it defines %(name)s"), _("its title names %(name)s"),
    _("its heading names %(name)s"), _("its text names %(name)s"),
    _("its title names a part of %(name)s"), _("its heading names a part of %(name)s"),
    _("its text names a part of %(name)s"), _("signals that found it"),
    _("found by meaning and by keywords"), _("share beside the reranker"),
    _("similarity to the first results"), _("not current: behind the document in force"),
    # Texts of documents and the upload page, whose modules are for staff; and of a language.
    _("Queued"), _("Parsing"), _("Chunking"), _("Embedding"), _("Ready"), _("Failed"), _("No file"),
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
