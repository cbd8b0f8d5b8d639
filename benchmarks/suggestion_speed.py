"""Suggestions while typing, for `benchmarks.search_speed --suggestions`.

In a library of the corpus of `benchmarks.search_speed`, each passage with a heading of words in its
text and the identifiers in it, with one of its own such as INC-2024-47-11. Typed are titles,
headings, identifiers and questions, each from its second letter on.
"""

from __future__ import annotations

import http.client
import os
import random
import statistics
import time
from collections.abc import Callable, Iterator
from functools import partial
from urllib.parse import urlencode

from benchmarks.temporary_site import site
from benchmarks.texts import Windows, questions

PHRASES = 60  # of each kind
MOST_LETTERS = 16
UNMEASURED = 200
SEED = 1


def measure(size: int) -> None:
    """Print milliseconds of the suggestions, in process and over HTTP, by letters typed."""
    os.environ |= {"THROTTLE": "suggestions=100000000/min", "DATABASE_POOL": "4"}
    with site("suggestions"):
        from benchmarks.open_streams import server
        from benchmarks.processes import postmaster
        from search.readers.suggestions import suggest

        _fill(size)
        typed = list(_typed())
        with server("--config", "python:kbsite.gunicorn", "kbsite.asgi") as target:
            beside = [postmaster()]
            _print("in process", typed, partial(suggest, viewer=None), beside)
            _print("HTTP", typed, _over_http(target.port), [*beside, target.process.pid])


def _fill(size: int) -> None:
    """Fill in documents of the corpus with the columns that suggestions read: no lexemes, no
    vectors.
    """
    from django.db import connection

    from benchmarks.corpus import BATCH, CHUNKS_PER_DOCUMENT, _copy, _documents
    from ingestion.identifiers import find_identifiers, index_forms
    from ingestion.models import Chunk, Collection, Identifier, Visibility

    collection = Collection.objects.create(name="bench", visibility=Visibility.PUBLIC)
    windows, started, count = Windows(size), time.perf_counter(), 0
    with connection.cursor() as cursor:
        # Not read here, and two thirds of the time.
        cursor.execute("DROP INDEX chunk_lexemes, chunk_words")
    for first in range(0, size // CHUNKS_PER_DOCUMENT, BATCH):
        numbers = range(first, min(first + BATCH, size // CHUNKS_PER_DOCUMENT))
        texts = {
            number: windows[number * CHUNKS_PER_DOCUMENT : (number + 1) * CHUNKS_PER_DOCUMENT]
            for number in numbers
        }
        versions = _documents(collection, texts)
        chunks = [
            Chunk(
                collection=collection,
                document_id=version.document_id,
                version=version,
                ordinal=place,
                searchable=True,
                text=f"{text} INC-2024-{number}-{place}",
                kind="paragraph",
                start=0,
                end=len(text),
                tokens=len(text) // 4,
                content_hash=f"{number}-{place}",
                sections=[[0, 1, " ".join(text[100:].split()[1 : 4 + place % 4]), "a"]],
            )
            for number, version in versions.items()
            for place, text in enumerate(texts[number])
        ]
        _copy(chunks)
        identifiers = [
            Identifier(chunk=chunk, form=form, strength=strength, place=2)
            for chunk in chunks
            for form, strength in {
                each.form: each.strength
                for mention in find_identifiers(chunk.text)
                for each in index_forms(mention)
            }.items()
        ]
        _copy(identifiers)
        count += len(identifiers)
    with connection.cursor() as cursor:
        cursor.execute("VACUUM ANALYZE")
        cursor.execute("SELECT pg_relation_size('chunk_section_words') / 1e6")
        (megabytes,) = cursor.fetchone()
    seconds = time.perf_counter() - started
    print(f"{count:,} identifiers; headings {megabytes:.0f} MB; filled in {seconds:.0f} s")


def _typed() -> Iterator[str]:
    """The typed text at each pause of a phrase, in random order."""
    from ingestion.models import Chunk, Document

    chance = random.Random(SEED)
    documents = list(Document.objects.order_by("pk").values_list("title", flat=True))
    chunks = list(Chunk.objects.order_by("pk").values_list("sections", "text"))
    picked = chance.sample(chunks, PHRASES)
    phrases = [
        *chance.sample(documents, PHRASES),
        *(sections[0][2] for sections, _ in picked),
        *(text.split()[-1] for _, text in picked),
        *questions(PHRASES),
    ]
    beginnings = [
        phrase[:letters]
        for phrase in phrases
        for letters in range(2, min(len(phrase), MOST_LETTERS) + 1)
    ]
    yield from chance.sample(beginnings, len(beginnings))


def _over_http(port: int) -> Callable[[str], object]:
    client = http.client.HTTPConnection("127.0.0.1", port, timeout=60)

    def ask(text: str) -> None:
        client.request("GET", "/suggestions/?" + urlencode({"q": text}))
        response = client.getresponse()
        body = response.read()
        if response.status != 200:
            raise RuntimeError(f"{response.status}: {body[:300]!r}")

    return ask


def _print(name: str, typed: list[str], way: Callable[[str], object], others: list[int]) -> None:
    """A row for each number of letters; `others` are the processes that work beside this one."""
    from benchmarks.processes import timed

    for text in typed[:UNMEASURED]:
        way(text)
    spent: dict[str, list[tuple[float, float]]] = {}
    for text in typed:
        clock, processor = timed(partial(way, text), others)[:2]
        for letters in (str(len(text)) if len(text) < 5 else "5 and more", "all"):
            spent.setdefault(letters, []).append((clock, processor))
    print(f"{name}, load of the machine {os.getloadavg()[0]:.1f}")
    columns = f"{'p50 ms':>9}{'p95':>9}{'p99':>9}{'processor p50':>15}{'p95':>9}"
    print(f"{'letters':<12}{'calls':>7}{columns}")
    for letters, pairs in sorted(spent.items()):
        clock, processor = (statistics.quantiles(each, n=100) for each in zip(*pairs, strict=True))
        row = "".join(f"{clock[place - 1]:>9.1f}" for place in (50, 95, 99))
        row += f"{processor[49]:>15.1f}{processor[94]:>9.1f}"
        print(f"{letters:<12}{len(pairs):>7}{row}", flush=True)
