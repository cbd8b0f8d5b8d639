"""The demo's questions: example searches over the HTTP API, and judged ones as golden queries.

`judgements/README.md` says how they were graded. `python -m benchmarks.judged --collection demo`
measures profiles on them.
"""

from __future__ import annotations

import csv
import io
import json
import time
import urllib.error
import urllib.parse
import urllib.request
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from common import UserError
from ingestion.models import Collection, Document
from kbsite.demo import documents
from search.models import SearchProfile
from search.tuning import golden_import_export as exchange
from search.tuning.evaluation import golden_runs
from search.tuning.evaluation.beir import QRELS, QUERIES, qrels_of, rows
from search.tuning.models import Judgement

START_TIMEOUT = 60.0  # seconds between notes; a guess: a web process loads in about three
ANSWER_TIMEOUT = 20.0
TOP_N = 3
# The site is on this machine: proxies in the environment are ignored.
_opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))


class SiteUnavailable(UserError):
    """The site did not answer as expected; the message says what happened."""


# Of our own samples: a question, and what it demonstrates.
EXAMPLES = {
    "Tell me about Region D40": "an exact name ranks before anything merely similar",
    "how does sensor fusion work": "without a name, meaning decides",
    "30 CFR 75.1725": "the rule itself ranks before a page that repeats it",
}


def wait_until_up(url: str, check: Callable[[], None], say: Callable[[str], None]) -> None:
    """Wait until the site's first page comes; `check` raises once its programs cannot run.

    A busy machine may take minutes, which are said. Raises SiteUnavailable for errors in answers.
    """
    deadline = time.monotonic() + START_TIMEOUT
    while True:
        check()
        try:
            _read(f"{url}/", "text/html")
        except SiteUnavailable as error:
            if time.monotonic() > deadline:
                if isinstance(error.__cause__, urllib.error.HTTPError):
                    raise
                say(f"{error}. Its programs run: waiting for it.")
                deadline = time.monotonic() + START_TIMEOUT
        else:
            return
        time.sleep(0.1)


def run(url: str, say: Callable[[str], None]) -> list[str]:
    """Run each search and print its top results; return the problems, as sentences.

    Somebody may have restricted or deleted the documents: the site runs all the same.
    """
    problems = []
    for question, shows in EXAMPLES.items():
        parameters = {"query": question, "collection": "samples", "page_size": TOP_N}
        try:
            answer = _answer(f"{url}/api/v1/search/?{urllib.parse.urlencode(parameters)}")
            if not answer["results"]:
                raise SiteUnavailable(f"The search for “{question}” returned no results.")
        except SiteUnavailable as error:
            problems.append(str(error))
            continue
        say(f"\n  {question}\n  {shows}")
        for place, result in enumerate(answer["results"], start=1):
            title = result["document"]["title"]
            # A chunk's path often begins with its document's title, as the first heading.
            path = [step for step in result["heading_path"] if step != title]
            say(f"  {place}. {' > '.join([title, *path])}")
    return problems


def _answer(url: str) -> dict[str, Any]:
    try:
        answer: dict[str, Any] = json.loads(_read(url, "application/json"))
    except ValueError as error:
        raise SiteUnavailable(f"{url} does not answer: {error}") from error
    return answer


def _read(url: str, media_type: str) -> bytes:
    headers = {"Accept": media_type, "DNT": "1"}  # a reader's searches alone are recorded
    request = urllib.request.Request(url, headers=headers)  # noqa: S310
    try:
        with _opener.open(request, timeout=ANSWER_TIMEOUT) as response:
            content: bytes = response.read()
            return content
    except urllib.error.HTTPError as error:
        body = error.read(500).decode("utf-8", "replace")
        raise SiteUnavailable(f"{url} answered {error.code}: {body}") from error
    except OSError as error:
        raise SiteUnavailable(f"{url} does not answer: {error}") from error


FOLDER = Path(__file__).parent / "judgements"
JUDGE = "Steelyard's authors"
# Judgements name the manual's pages without the version that the site runs on.
MANUAL = "django/"
COLLECTIONS = (documents.SAMPLES, documents.DJANGO_DOCS)


def aliases() -> Mapping[str, str]:
    """The prefix of the sources of the manual's pages on this site."""
    return {MANUAL: documents.release() + "/"}


def load_golden_queries(say: Callable[[str], None]) -> None:
    """Create golden queries from the judged questions about collections that have none of them yet.

    A document has the highest grade of its sections; the note names them. Questions about documents
    that are not there are left out. A worker measures the new ones under the active profile.
    """
    slugs, shipped = slugs_here(), Judgement.objects.filter(judge_name=JUDGE)
    done = set(shipped.values_list("document__collection__slug", flat=True))
    judged = _as_csv(slugs, new=[slug for slug in slugs if slug not in done])
    result = exchange.import_file("csv", judged, acting_user=None)
    if result.queries:
        say(f"{result.queries} golden queries with {result.judgements} judgements to start from")
        golden_runs.start(SearchProfile.objects.get(state="active"), acting_user=None)


def _as_csv(slugs: Sequence[str], new: Sequence[str]) -> bytes:
    """The judgements of the `new` ones' documents, as a file to import."""
    documents_here = Document.objects.undeleted().filter(collection__slug__in=new)
    ids = dict(documents_here.values_list("source", "public_id"))
    texts = {str(row["_id"]): str(row["text"]) for row in rows(FOLDER / QUERIES)}
    out = io.StringIO(newline="")
    writer = csv.writer(out)
    writer.writerow(("query", "collections", "document", "grade", "judge", "note"))
    qrels = qrels_of(FOLDER / QRELS)
    for query, grades in reversed(qrels.items()):  # the newest is listed first
        of_document: dict[str, list[tuple[int, str]]] = defaultdict(list)
        for name, grade in grades.items():
            source, _, section = name.partition("#")
            of_document[source].append((grade, section))
        for source, sections in of_document.items():
            document = ids.get(_on_this_site(source))
            if document is None:
                continue
            grade = max(grade for grade, _ in sections)
            best = "; ".join(name for each, name in sections if each == grade and name)
            row = (texts[query], " ".join(slugs), document, grade, JUDGE, best)
            writer.writerow(row)
    return out.getvalue().encode()


def _on_this_site(source: str) -> str:
    """The source of a judged document on this site."""
    inside = source.removeprefix(MANUAL)
    return source if inside == source else f"{documents.release()}/{inside}"


def slugs_here() -> list[str]:
    """The demo's collections that this site has, and that hold documents."""
    rows = Collection.objects.undeleted().filter(name__in=COLLECTIONS, documents__isnull=False)
    return sorted(set(rows.values_list("slug", flat=True)))
