"""U5: what an upload leaves behind."""

from ingestion.models.imports import Import, ImportItem
from ingestion.models.index import Chunk, ChunkEmbedding, EmbeddingSpace, Identifier
from ingestion.models.library import (
    Collection,
    Document,
    DocumentVersion,
    Lane,
    SourceKind,
    State,
    Visibility,
)
from ingestion.models.patterns import IdentifierPattern
from ingestion.models.statistics import (
    CorpusChange,
    CorpusStatistics,
    TermChange,
    TermFrequency,
)

__all__ = [
    "Chunk",
    "ChunkEmbedding",
    "Collection",
    "CorpusChange",
    "CorpusStatistics",
    "Document",
    "DocumentVersion",
    "EmbeddingSpace",
    "Identifier",
    "IdentifierPattern",
    "Import",
    "ImportItem",
    "Lane",
    "SourceKind",
    "State",
    "TermChange",
    "TermFrequency",
    "Visibility",
]
