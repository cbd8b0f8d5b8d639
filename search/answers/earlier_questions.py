"""Follow-ups: how a question gets its subject from the one before it.

`read_earlier_questions` makes a follow-up question stand alone by a rule. Where there is a model,
that does (`making.searching`), and the rule remains for when it fails.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress

from django.conf import settings

from search.answers import recording
from search.answers.content_words import POINTING, STOP, alike, content, stem
from search.answers.making.draft import AnswerDraft
from search.answers.models import Answer
from search.answers.request import AnswerRequest
from search.domain import Query
from search.engine import configuration
from search.engine.read import read_query
from search.errors import SearchError
from search.query.parse import clean_text
from search.retrieval.spelling_candidates import passages_with

# The earlier questions of a thread that a follow-up may refer to. A guess.
MOST_EARLIER = 4
# The most words that a follow-up takes along. A guess: more would outweigh its own.
MOST_WORDS = 3
# A shorter question says too little to stand alone: "How long?", "Since when?".
FEWEST_WORDS = 2
# So many content words make a question of its own, although it opens with "and".
MOST_WORDS_ELLIPTIC = 3

_TOKEN = re.compile(r"[^\W_](?:[^\W_]|[-'’.](?=[^\W_]))*")
# Words that point back in a short question; in a long one they are conjunctions and articles.
_PERHAPS = frozenset(
    """
    this that these those one ones same other others another both either neither
    sie das dies beide beides andere anderen
    ça cela il ils ce cet cette autre autres
    eso esto estos esas otro otra ciò altro altra
    """.split()  # noqa: SIM905
)
_OPENING = re.compile(
    r"\s*(?:and|but|or|so|also|then|what about|how about|what if|why not|"
    r"und|aber|oder|auch|was ist mit|wie ist es mit|wie sieht es mit|warum nicht|"
    r"et|mais|ou|qu'en est-il|y|pero|e|ma|en|maar)\b",
    re.IGNORECASE,
)


def read_earlier_questions(work: AnswerDraft) -> None:
    """Read the earlier questions of the thread and make the question stand alone.

    Of the answers only the last one is read, and only if the asker may still read all of its
    sources: an unreadable document must not come back through them. Raises QueryTooLong and every
    other error of the question as typed.
    """
    request = work.request
    if request.thread is None and not request.earlier and not request.searched_for:
        return  # the search reads the question
    configured = configuration.current()
    query = read_query(request.question, configured)
    if request.searched_for:
        return
    earlier = request.earlier[-MOST_EARLIER:]
    if request.thread is not None:
        rows = Answer.objects.filter(thread=request.thread).order_by("-at", "-pk")
        earlier = tuple(reversed(rows.values_list("searched_for", flat=True)[:MOST_EARLIER]))
    most = settings.SEARCH_QUERY_CHARS
    work.earlier = tuple(text[:most] for each in earlier if (text := clean_text(each)))
    if work.earlier and follows_up(query):
        with suppress(SearchError):  # of the one before, if it cannot be read
            before = read_query(work.earlier[-1], configured)
            work.rule_question = _with_subject(request, before)


def _with_subject(request: AnswerRequest, before: Query) -> str:
    """The question with the subject of the previous one: the words of it that are rare or in its
    answer, and the heading of that answer.
    """
    words, (heading, answer_text) = content_words(before.text), _last_answer(request)
    subject = rarest(words, passages_with(words, request.viewer), answer_text)
    subject += content_words(heading)[:MOST_WORDS]
    return joined(request.question, before, subject, most=settings.SEARCH_QUERY_CHARS)


def _last_answer(request: AnswerRequest) -> tuple[str, str]:
    """The heading of the first citation in the thread's last answer, and the answer's text.

    Both are empty if the asker may no longer read all of its sources.
    """
    rows = recording.with_sources(request.viewer).filter(thread=request.thread)
    row = rows.order_by("-at", "-pk").first() if request.thread is not None else None
    cited = [each for each in row.sources.all() if each.cited] if row is not None else []
    if row is None or row.is_withheld or not cited:
        return "", ""
    return [cited[0].title, *cited[0].heading_path][-1], row.text


def content_words(text: str) -> tuple[str, ...]:
    """The content words of a question in their order, without repetitions."""
    words = {_folded(each): each for each in _TOKEN.findall(text) if _has_content(_folded(each))}
    return tuple(words.values())


def follows_up(query: Query) -> bool:
    """Whether a question cannot be understood without the previous one.

    True if it names no identifier and points back by a pronoun, opens as a continuation ("and",
    "what about") with few words of its own, or has hardly any content word.
    """
    if query.identifiers:
        return False
    text = query.original or query.text
    words = {_folded(match.group()) for match in _TOKEN.finditer(text)}
    own = len(content_words(text))
    if words & POINTING or own < FEWEST_WORDS:
        return True
    opens = bool(words & _PERHAPS) or _OPENING.match(text) is not None
    return opens and own <= MOST_WORDS_ELLIPTIC


def rarest(words: Sequence[str], chunks: Mapping[str, int], answer: str = "") -> tuple[str, ...]:
    """Return at most MOST_WORDS of a question's `words`, in their order.

    Words of its `answer` come first, as an answer repeats the subject and seldom the rest; then
    those in the fewest passages. `chunks` is the number of passages with each word; words without
    one are left out.
    """
    stems = set(content(answer))
    known = [word for word in words if chunks.get(word, 0) > 0]
    in_answer = {word: any(alike(stem(_folded(word)), each) for each in stems) for word in known}
    chosen = sorted(known, key=lambda word: (not in_answer[word], chunks[word]))[:MOST_WORDS]
    return tuple(word for word in words if word in chosen)


def joined(question: str, previous: Query, rare: Sequence[str], *, most: int) -> str:
    """The question with the identifiers and the rare words of the previous one, in `most`
    characters.
    """
    present = {_folded(match.group()) for match in _TOKEN.finditer(question)}
    text = " ".join(question.split())
    for word in (*(each.text for each in previous.identifiers), *rare):
        own = stem(_folded(word))
        is_missing = not any(alike(own, stem(each)) for each in present)
        if is_missing and len(text) + 1 + len(word) <= most:
            present |= {_folded(word), *(_folded(match.group()) for match in _TOKEN.finditer(word))}
            text = f"{text} {word}"
    return text


def _has_content(word: str) -> bool:
    is_empty = word in STOP or word in POINTING or word in _PERHAPS
    return not is_empty and (len(word) > 1 or not word.isascii() or word.isdigit())


def _folded(word: str) -> str:
    return word.casefold().replace("’", "'")
