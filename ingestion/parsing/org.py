"""Org -> Blocks. Includes are taken out: an upload has no neighbours to include."""

from __future__ import annotations

import re

from .encoding import decode
from .pandoc import TOO_DEEP_WARNING, extraction, is_too_deep, plain_text, read_tree
from .protocol import Extraction, Source
from .syntax_tree import TreeReader

_INCLUDE = re.compile(r"^#\+(?:include|setupfile):.*$", re.MULTILINE | re.IGNORECASE)


class OrgParser:
    """Headlines, lists, tables, source blocks; `#+TITLE` and its like as metadata."""

    name = "pandoc-org"

    def extract(self, source: Source) -> Extraction:
        text = _INCLUDE.sub("", decode(source.path.read_bytes()))
        if is_too_deep(text):
            return plain_text(text, TOO_DEEP_WARNING)
        return extraction(read_tree(text, "org", source.limits), TreeReader())


PARSER = OrgParser()
