"""The responses to questions asked a moment ago, kept in the process (ADR 81).

A kept response answers a request only if nothing that shaped it could differ: the question, the
filters and choices, the configuration, the collections that this reader may read now, the state of
their passages, and what else of the reader decides what is shown. All of these are the key, and the
database is asked for them at every request: nobody is shown what another reader may see.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from dataclasses import dataclass, replace

from django.conf import settings
from django.utils.translation import get_language

from common.backoff import patience
from common.observing import metrics
from ingestion.models.library import Viewer
from search.engine import configuration
from search.engine.configuration import Configuration
from search.engine.find import MAY_HIDE
from search.engine.response import SearchResponse
from search.engine.settle import Request
from search.query.parse import clean_text
from search.retrieval.backends import POSTGRES
from search.retrieval.state import LibraryState, library_state

# One response takes 400 kB with its candidates, from which explanations are made when asked for:
# some 50 MB a process. Beyond that the least recently asked one goes. A guess.
MOST_KEPT = 128
# Of the passages shown: fifty of the longest, with those folded under them, have millions. A guess.
MOST_CHARS = 200_000


@dataclass(frozen=True, slots=True)
class Key:
    """All that decides what a response says: see the module.

    `request` without its viewer, of whom `traits` are what counts besides the readable collections.
    """

    text: str
    state: LibraryState
    traits: tuple[bool, ...]
    request: Request
    language: str | None


_held: OrderedDict[Key, tuple[float, SearchResponse]] = OrderedDict()
_lock = threading.Lock()


def prepared(text: str, asked: Request) -> tuple[Configuration, Key | None]:
    """The current configuration, and the key of the response; None if it may not be kept.

    One query. Not kept are the searches of measurements, of drafts, and those that take part in an
    experiment, where every search is dealt its arm.
    """
    if not _may_be_kept(text, asked):
        return configuration.current(), None
    state = library_state(asked.viewer)
    configured = configuration.current(state.configuration)
    if asked.takes_part is not None and configured.experiment is not None:
        return configured, None
    return configured, Key(
        clean_text(text),
        state,
        _of_viewer(asked.viewer, configured),
        # Whatever else is asked for; a parameter that comes later is in the key by itself.
        replace(asked, viewer=None, takes_part=None),
        get_language(),
    )


def _may_be_kept(text: str, asked: Request) -> bool:
    return (
        settings.RESULT_CACHE_SECONDS > 0
        and patience() is None
        and asked.choices.snapshot is None
        # Nothing is searched for an empty question, and one that is too long is refused.
        and 0 < len(text) <= settings.SEARCH_QUERY_CHARS
        # An engine beside the database follows it with a delay that its state does not show.
        and settings.RETRIEVAL_BACKEND == POSTGRES
    )


def kept(key: Key) -> SearchResponse | None:
    """The response kept under the key; None if there is none, or it is too old."""
    now = time.monotonic()
    with _lock:
        until, response = _held.get(key, (now, None))
        if response is not None and until <= now:
            del _held[key]
            response = None
        if response is not None:
            _held.move_to_end(key)
    metrics.count(metrics.CACHE, cache="results", result="miss" if response is None else "hit")
    return response


def keep(key: Key, response: SearchResponse, viewer: Viewer) -> None:
    """Keep the response for RESULT_CACHE_SECONDS; one query.

    Not if a part of the search could not run, or if the texts are very long. Nor if the state has
    changed since the key was made: a viewer who was let into a collection meanwhile has been shown
    its passages, and whoever has the rights of before must not be.
    """
    if response.degraded or _chars(response) > MOST_CHARS or library_state(viewer) != key.state:
        return
    with _lock:
        _held[key] = time.monotonic() + settings.RESULT_CACHE_SECONDS, response
        while len(_held) > MOST_KEPT:
            _held.popitem(last=False)


def _chars(response: SearchResponse) -> int:
    shown = (one for best in response.results for one in (best, *best.folded, *best.copies))
    return sum(len(one.text) + len(one.marked) for one in shown)


def forget() -> None:
    """Forget all kept responses."""
    with _lock:
        _held.clear()


def _of_viewer(viewer: Viewer, configured: Configuration) -> tuple[bool, ...]:
    """What of a viewer besides the readable collections decides what a response says.

    Staff read editors' notes; those who may edit hides learn what is hidden; which profiles of
    collections are named depends on signing in, and on being limited to some.
    """
    if viewer is None or not viewer.is_authenticated or not viewer.is_active:
        return ()
    return (
        viewer.is_staff,
        viewer.is_superuser,
        viewer.collections_limit is None,
        bool(configured.hides) and viewer.has_perm(MAY_HIDE),
    )
