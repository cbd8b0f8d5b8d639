"""The library's side of the admin: documents, collections, identifier patterns, spaces."""

from ingestion.admin.collections import CollectionAdmin
from ingestion.admin.documents import DocumentAdmin
from ingestion.admin.patterns import IdentifierPatternAdmin
from ingestion.admin.spaces import EmbeddingSpaceAdmin

__all__ = ["CollectionAdmin", "DocumentAdmin", "EmbeddingSpaceAdmin", "IdentifierPatternAdmin"]
