"""The tables of the library: collections, documents, versions, chunks, imports."""

from ingestion.models.chunks import Chunk, Identifier
from ingestion.models.collections import Collection
from ingestion.models.documents import DeletedDocument, Document, Purge, SourceKind
from ingestion.models.embeddings import ChunkEmbedding, EmbeddingSpace
from ingestion.models.intake import Import, ImportItem
from ingestion.models.mirrors import Mirrored, SyncItem, SyncSource, WatchedFile, WatchedFolder
from ingestion.models.patterns import IdentifierPattern
from ingestion.models.statistics import (
    CorpusChange,
    CorpusStatistics,
    TermChange,
    TermFrequency,
)
from ingestion.models.versions import ChunkEdit, DocumentVersion, Lane, State
from ingestion.models.visibility import Visibility
