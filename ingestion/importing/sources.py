"""Which source serves which kind of import."""

from __future__ import annotations

from ingestion.importing.archives import ArchiveSource
from ingestion.importing.folders import FolderSource
from ingestion.importing.manifests import ManifestSource
from ingestion.importing.protocol import ImportRefused, Source
from ingestion.importing.web import SitemapSource, SiteSource, UrlSource
from ingestion.models import Import

SOURCES: dict[str, type[Source]] = {
    Import.Kind.ARCHIVE: ArchiveSource,
    Import.Kind.MANIFEST: ManifestSource,
    Import.Kind.FOLDER: FolderSource,
    Import.Kind.URL: UrlSource,
    Import.Kind.SITE: SiteSource,
    Import.Kind.SITEMAP: SitemapSource,
}


def source_for(of: Import) -> Source:
    """The source of an import, not yet open. Raises ImportRefused for a kind that none serves."""
    return source_of(of.kind, of)


def source_of(kind: str, of: Import) -> Source:
    """The source of a kind, for an import that may be of another: a manifest names addresses."""
    if kind not in SOURCES:
        raise ImportRefused(f"Nothing here imports “{Import.Kind(kind).label}”.")
    return SOURCES[kind](of)
