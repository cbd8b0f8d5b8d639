"""The addresses of the library's API, below /api/v1/."""

from __future__ import annotations

from rest_framework.routers import SimpleRouter

from ingestion.api.collections import CollectionViewSet, ConceptViewSet
from ingestion.api.documents import DocumentViewSet, VersionViewSet
from ingestion.api.imports import ImportViewSet, WatchedFolderViewSet
from ingestion.api.passages import EditViewSet, PassageViewSet

DOCUMENT = "documents/<uuid:public_id>"

router = SimpleRouter(use_regex_path=False)
router.register("collections", CollectionViewSet, "collection")
router.register("concepts", ConceptViewSet, "concept")
router.register("documents", DocumentViewSet, "document")
router.register(f"{DOCUMENT}/versions", VersionViewSet, "document-version")
router.register(f"{DOCUMENT}/chunks", PassageViewSet, "document-chunk")
router.register(f"{DOCUMENT}/edits", EditViewSet, "document-edit")
router.register("imports", ImportViewSet, "import")
router.register("watched-folders", WatchedFolderViewSet, "watched-folder")
