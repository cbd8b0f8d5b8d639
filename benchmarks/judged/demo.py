"""The judged collection that ships: sections of the demo's documents, which it loads itself."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from django.conf import settings

from benchmarks.judged.loading import finish
from benchmarks.judged.sections import SectionCollection, read_sections
from ingestion.models import Collection, Visibility
from ingestion.models.collections import JUDGED
from kbsite.demo import documents, examples
from search.tuning.evaluation.beir import EvaluationError

NAME = "demo"


def collection() -> SectionCollection:
    """The judged collection, which loads its documents itself."""
    return read_sections(examples.FOLDER, load, NAME)


def load(say: Callable[[str], None], processes: int) -> tuple[Sequence[str], Mapping[str, str]]:
    """Make the documents searchable; return the collections to search and the `aliases`.

    A demo's own documents are used; other sites get a collection that only superusers can read.
    Raises EvaluationError if the documentation cannot be downloaded or a document cannot be loaded.
    """
    slugs = examples.slugs_here()
    if len(slugs) == len(examples.COLLECTIONS):
        return slugs, examples.aliases()
    hidden, _ = Collection.objects.undeleted().get_or_create(
        name=f"{JUDGED}{NAME}",
        defaults={
            "visibility": Visibility.GROUPS,
            "description": "The demo's documents, to measure search with.",
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
    return [hidden.slug], examples.aliases()
