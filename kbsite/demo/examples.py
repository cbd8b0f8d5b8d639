"""Three example searches over the site's HTTP API."""

from __future__ import annotations

import json
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from search.domain import OPTIONAL

START_TIMEOUT = 60.0  # seconds; a guess: a web process loads in about three
ANSWER_TIMEOUT = 20.0
SHOWN = 3
# The site is on this machine: proxies in the environment are ignored.
_opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))


class SiteUnavailable(Exception):
    """The site did not answer as expected; the message says what happened."""


@dataclass(frozen=True, slots=True)
class Example:
    """A question, what it demonstrates, and the collection to search."""

    question: str
    shows: str
    collection: str


SAMPLES = (
    Example(
        "Tell me about Region D40", "an exact name ranks before anything merely similar", "samples"
    ),
    Example("how does sensor fusion work", "without a name, meaning decides", "samples"),
    Example("30 CFR 75.1725", "the rule itself ranks before a page that repeats it", "samples"),
)
EVERYTHING = (
    SAMPLES[0],
    Example(
        "how do I avoid one query for each related object",
        "without a name, meaning decides",
        "django-documentation",
    ),
    Example(
        "CSRF_TRUSTED_ORIGINS",
        "the setting's own section ranks before pages that mention it",
        "django-documentation",
    ),
)


def wait_until_up(url: str, check: Callable[[], None]) -> None:
    """Wait until the site answers a request. Raises SiteUnavailable; `check` may raise earlier."""
    deadline = time.monotonic() + START_TIMEOUT
    while True:
        check()
        try:
            _answer(f"{url}/api/v1/collections/")
        except SiteUnavailable:
            if time.monotonic() > deadline:
                raise
        else:
            return
        time.sleep(0.1)


def run(url: str, examples: Sequence[Example], say: Callable[[str], None]) -> None:
    """Run each search and print its top results. Raises SiteUnavailable if one has none."""
    for example in examples:
        parameters = {"q": example.question, "collection": example.collection, "page_size": SHOWN}
        begun = time.monotonic()
        answer = _answer(f"{url}/api/v1/search/?{urllib.parse.urlencode(parameters)}")
        seconds = time.monotonic() - begun
        if not answer["results"]:
            raise SiteUnavailable(f"The search for “{example.question}” returned no results.")
        for line in _lines(example, answer, seconds):
            say(line)


def _lines(example: Example, answer: dict[str, Any], seconds: float) -> Iterator[str]:
    profile, weights = answer["profile"], answer["weights"]
    yield ""
    yield f"  {example.question}"
    yield f"  {example.shows}"
    yield (
        f"  class {answer['query_class']} ({answer['rule']}), profile {profile['name']} version "
        f"{profile['version']}: " + _shares(weights) + f"; {seconds * 1000:.0f} ms"
    )
    if answer["degraded"]:
        yield f"  without: {', '.join(answer['degraded'])}"
    for place, result in enumerate(answer["results"], start=1):
        document = result["document"]
        # A chunk's path often begins with its document's title, as the first heading.
        path = [step for step in result["heading_path"] if step != document["title"]]
        yield f"  {place}. {' > '.join([document['title'], *path])}"
        tier = f"; first because {result['tier']}" if result["tier"] else ""
        yield f"     score {result['score']:.3f} = {_sum(result)}{tier}"


def _sum(result: dict[str, Any]) -> str:
    """A score's contributions and adjustments as a sum."""
    signs = {"sum": "+", "product": "x"}
    extra = (
        f" {signs[each['operation']]} {each['label']} {each['value']:.2f}"
        for each in result["adjustments"]
    )
    return _shares(result["contributions"]) + "".join(extra)


def _shares(values: dict[str, float]) -> str:
    """The shares as a sum; the optional signals only if they are not 0."""
    optional = {signal.value for signal in OPTIONAL}
    shares = {name: value for name, value in values.items() if value or name not in optional}
    return " + ".join(f"{name} {value:.2f}" for name, value in shares.items())


def _answer(url: str) -> dict[str, Any]:
    request = urllib.request.Request(url, headers={"Accept": "application/json"})  # noqa: S310
    try:
        with _opener.open(request, timeout=ANSWER_TIMEOUT) as response:
            answer: dict[str, Any] = json.load(response)
            return answer
    except urllib.error.HTTPError as error:
        said = error.read(500).decode("utf-8", "replace")
        raise SiteUnavailable(f"{url} answered {error.code}: {said}") from error
    except (OSError, ValueError) as error:
        raise SiteUnavailable(f"{url} does not answer: {error}") from error
