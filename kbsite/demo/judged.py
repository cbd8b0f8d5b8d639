"""The judged collection that ships: questions about the demo's documents, with graded sections.

`judgements/README.md` says how they were graded. `manage.py evaluate --collection demo` measures
profiles on them; `make demo` loads them as golden queries.
"""

from __future__ import annotations

import csv
import io
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from django.conf import settings

from ingestion.models import Collection, Document, Visibility
from kbsite.demo import documents
from search.tuning.evaluation.collections import EvaluationError
from search.tuning.evaluation.sections import SectionCollection, read_sections, source_of
from search.tuning.golden import exchange
from search.tuning.management.judged import finish
from search.tuning.models import GoldenQuery

FOLDER = Path(__file__).parent / "judgements"
NAME = "demo"
JUDGE = "Steelyard's authors"
# Judgements name the manual's pages without the version that the site runs on.
MANUAL = "django/"
COLLECTIONS = (documents.SAMPLES, documents.DJANGO_DOCS)


def collection() -> SectionCollection:
    """The judged collection, which loads its documents itself."""
    return read_sections(FOLDER, load, NAME)


def aliases() -> Mapping[str, str]:
    """The beginning of the sources of the manual's pages on this site."""
    return {MANUAL: documents.release() + "/"}


def load(say: Callable[[str], None], processes: int) -> tuple[Sequence[str], Mapping[str, str]]:
    """Make the documents searchable; return the collections to search and the `aliases`.

    Those of a demo are used; any other site gets a collection that only superusers can read.
    Raises EvaluationError if the documentation cannot be downloaded or a document cannot be loaded.
    """
    slugs = _slugs()
    if len(slugs) == len(COLLECTIONS):
        return slugs, aliases()
    hidden, _ = Collection.objects.kept().get_or_create(
        name=f"judged: {NAME}",
        defaults={
            "visibility": Visibility.GROUPS,
            "description": "The demo's documents, to measure search with (manage.py evaluate).",
        },
    )
    uploads = documents.Uploads()
    try:
        manual = documents.django_docs(settings.VAR_DIR / "demo", say)
    except documents.DocsUnavailable as error:
        raise EvaluationError(str(error)) from error
    documents.add(hidden, [*documents.samples(), *manual], uploads)
    if uploads.problems:
        raise EvaluationError(uploads.problems[0])
    finish(uploads.waiting, write=say, processes=processes)
    return [hidden.slug], aliases()


def load_golden_queries(say: Callable[[str], None]) -> None:
    """Make the judged questions golden queries, unless the site has any.

    A document has the highest grade of its sections; the note names them. Questions about documents
    that are not there are left out.
    """
    if GoldenQuery.objects.exists():
        return
    result = exchange.import_file("csv", _as_csv(collection(), _slugs()), acting_user=None)
    if result.queries:
        say(f"{result.queries} golden queries with {result.judgements} judgements to start from")


def _as_csv(judged: SectionCollection, slugs: Sequence[str]) -> bytes:
    """The judgements of documents in the format of `manage.py judgements import`."""
    documents_here = Document.objects.kept().filter(collection__slug__in=slugs)
    ids = dict(documents_here.values_list("source", "public_id"))
    texts = {**judged.queries, **judged.without_answer}
    out = io.StringIO(newline="")
    writer = csv.writer(out)
    writer.writerow(("query", "collections", "document", "grade", "judge", "note"))
    for query, grades in reversed(list(judged.qrels.items())):  # the newest is listed first
        of_document: dict[str, list[tuple[int, str]]] = defaultdict(list)
        for name, grade in grades.items():
            of_document[source_of(name)].append((grade, name.partition("#")[2]))
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
    for prefix, actual in aliases().items():
        if source.startswith(prefix):
            return actual + source.removeprefix(prefix)
    return source


def _slugs() -> list[str]:
    """The demo's collections that this site has, and that hold documents."""
    rows = Collection.objects.kept().filter(name__in=COLLECTIONS, documents__isnull=False)
    return sorted(set(rows.values_list("slug", flat=True)))
