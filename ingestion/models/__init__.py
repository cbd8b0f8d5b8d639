"""The tables of the library: collections, documents, versions, chunks, imports."""

from ingestion.models.concepts import Concept
from ingestion.models.documents import DeletedDocument, Document, DocumentMove, SourceKind
from ingestion.models.edits import ChunkEdit
from ingestion.models.idempotency import IdempotencyKey
from ingestion.models.index import Chunk, ChunkEmbedding, EmbeddingSpace, Identifier
from ingestion.models.intake import Import, ImportItem, WatchedFile, WatchedFolder
from ingestion.models.library import Collection, Visibility
from ingestion.models.patterns import IdentifierPattern
from ingestion.models.purges import Purge
from ingestion.models.statistics import (
    CorpusChange,
    CorpusStatistics,
    TermChange,
    TermFrequency,
)
from ingestion.models.versions import DocumentVersion, Lane, State

__all__ = [
    "Chunk",
    "ChunkEdit",
    "ChunkEmbedding",
    "Collection",
    "Concept",
    "CorpusChange",
    "CorpusStatistics",
    "DeletedDocument",
    "Document",
    "DocumentMove",
    "DocumentVersion",
    "EmbeddingSpace",
    "IdempotencyKey",
    "Identifier",
    "IdentifierPattern",
    "Import",
    "ImportItem",
    "Lane",
    "Purge",
    "SourceKind",
    "State",
    "TermChange",
    "TermFrequency",
    "Visibility",
    "WatchedFile",
    "WatchedFolder",
]
