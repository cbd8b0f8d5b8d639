"""The ingestion admin: documents, collections, imports, identifier patterns, spaces."""

from ingestion.admin.bin import BinAdmin
from ingestion.admin.collections import CollectionAdmin
from ingestion.admin.documents import DocumentAdmin
from ingestion.admin.hand_edits import ChunkEditAdmin
from ingestion.admin.imports import ImportAdmin
from ingestion.admin.patterns import IdentifierPatternAdmin
from ingestion.admin.spaces import EmbeddingSpaceAdmin
from ingestion.admin.watched_folders import SyncSourceAdmin, WatchedFolderAdmin
