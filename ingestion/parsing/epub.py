"""EPUB -> Blocks, with the title, author, language and date of its package file."""

from __future__ import annotations

from .archive import check_archive
from .pandoc import extraction, read_tree
from .protocol import Extraction, Source
from .syntax_tree import TreeReader


class EpubParser:
    """A whole book as one document."""

    name = "pandoc-epub"

    def extract(self, source: Source) -> Extraction:
        check_archive(source.path, source.limits)
        return extraction(read_tree(source.path, "epub", source.limits), TreeReader())


PARSER = EpubParser()
