"""The sources of imports by kind."""

from __future__ import annotations

from ingestion.intake.import_archives import ArchiveSource
from ingestion.intake.import_folders import FolderSource
from ingestion.intake.import_protocol import ImportSource
from ingestion.intake.import_web import SitemapSource, SiteSource, UrlSource
from ingestion.intake.manifests import ManifestSource
from ingestion.models import Import

SOURCES: dict[str, type[ImportSource]] = {
    Import.Kind.ARCHIVE: ArchiveSource,
    Import.Kind.MANIFEST: ManifestSource,
    Import.Kind.FOLDER: FolderSource,
    Import.Kind.URL: UrlSource,
    Import.Kind.SITE: SiteSource,
    Import.Kind.SITEMAP: SitemapSource,
}
