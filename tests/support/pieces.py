"""Chunks of documents and passages of contexts, without a database."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from ingestion.lexical.near_duplicates import signature
from search.answers.context import select
from search.answers.context_pieces import Piece
from search.answers.domain import AnswerParameters, Context, Passage


def piece(chunk_id: int, text: str = "", **fields: object) -> Piece:
    """Chunk number `chunk_id` of a document of its own, if `fields` do not say otherwise.

    Its rank is its id.
    """
    text = text or f"Passage {chunk_id} says {chunk_id}."
    plain = Piece(
        chunk_id=chunk_id,
        document=chunk_id,
        document_id=f"document-{chunk_id}",
        version=chunk_id,
        ordinal=0,
        title="Manual",
        heading_path=(),
        page=None,
        collection_id=1,
        collection="Handbook",
        language="en",
        start=0,
        end=len(text),
        text=text,
        score=1 / chunk_id,
        rank=chunk_id,
        content_hash=text,
        signature=signature(text),
    )
    return replace(plain, **fields)  # type: ignore[arg-type]


def passage(number: int, text: str, title: str = "", **fields: object) -> Passage:
    """Passage `number` of a context, of a document of its own, if `fields` do not say otherwise."""
    plain = Passage(
        number=number, chunk_ids=(number,), document=number, document_id=str(number),
        version=number, ordinal=0, title=title, heading_path=(), page=None, collection_id=1,
        collection="Handbook", language="en", start=0, end=len(text), text=text,
        tokens=len(text) // 4, score=1.0, rank=number,
    )  # fmt: skip
    return replace(plain, **fields)  # type: ignore[arg-type]


def pieces_of(
    document: int,
    sentences: Sequence[str],
    *,
    ranks: Sequence[int] = (),
    overlap: int = 0,
    headings: Sequence[str] = (),
    **fields: object,
) -> tuple[str, list[Piece]]:
    """A document's text, and a chunk for each sentence, with so many sentences before it again.

    Ids are `100 * document + ordinal`; without `ranks` no chunk is a hit.
    """
    starts, position = [], 0
    for sentence in sentences:
        starts.append(position)
        position += len(sentence) + 1
    text = " ".join(sentences)
    made = []
    for ordinal, sentence in enumerate(sentences):
        start = starts[max(0, ordinal - overlap)]
        end = starts[ordinal] + len(sentence)
        heading = (headings[ordinal],) if headings else ()
        made.append(
            piece(
                100 * document + ordinal,
                text[start:end],
                document=document,
                version=document,
                ordinal=ordinal,
                start=start,
                end=end,
                heading_path=heading,
                rank=ranks[ordinal] if ranks else 0,
                **fields,
            )
        )
    return text, made


def assemble(
    pieces: Iterable[Piece], parameters: AnswerParameters, around: Iterable[Piece] = ()
) -> Context:
    """The context of candidates; `around` are the chunks that passages may grow by."""
    return select(pieces, parameters).grown(around).context()
