"""The blocks of a web page that are not its text: menus, ways to its neighbours, cookie notices.

They are known by what the page states of them (roles, names of elements, `rel` and access keys of
links). A menu without a name stays: so may a list of links that somebody wrote.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from ingestion.parsing.formats.pandoc_tree import Node, TreeReader

_NAVIGATION = re.compile(r"<(/?)nav(?=[\s>])[^<>]*", re.IGNORECASE)
_BODY_TEXT = re.compile(r"\w")
# Of most notices: cookie-banner, cookieConsent, onetrust-consent-sdk, CybotCookiebotDialog.
_COOKIES = re.compile(
    r"cookie[-_]?(?:banner|bar|consent|dialog|law|modal|notice|notification|popup)"
    r"|\bonetrust|cookiebot|\busercentrics",
    re.IGNORECASE,
)
# Of Doxygen, DocBook, GTK-Doc, Javadoc, MediaWiki and the frameworks of pages: navpath, navheader,
# topNav, navbox, breadcrumbs, toc.
_NAMES = re.compile(
    r"(?<![A-Za-z])(?:(?:top|sub|side|bottom)-?)?(?:nav(?:bar|box|footer|header|igation|panel|path)?"
    r"|breadcrumbs?|menu|pag(?:er|ination)|toc)(?![a-z])",
    re.IGNORECASE,
)
_NEIGHBOURS = {("rel", "next"), ("rel", "prev"), ("rel", "previous"), ("rel", "up")} | {
    ("accesskey", key) for key in "npu"
}
LINKED_SHARE = 0.6  # of a menu's letters; a guess
# The letters beside the links to a page's neighbours: "Next:" and "Up:"; in DocBook's tables also
# the titles of book and chapter. Guesses.
_MOST_UNLINKED = {"Para": 40, "Plain": 40, "BulletList": 40, "Table": 200}


def with_roles(page: str) -> str:
    """The page with its <nav> elements, which pandoc's tree has not, as elements of that role.

    Unchanged if one has no end.
    """
    tags = [bool(tag[1]) for tag in _NAVIGATION.finditer(page)]
    if 2 * sum(tags) != len(tags):
        return page
    return _NAVIGATION.sub(lambda tag: "</div" if tag[1] else '<div role="navigation"', page)


def without_navigation(nodes: Sequence[Node]) -> list[Node]:
    """The nodes of a page without its navigation and cookie notices, at any depth of <div>.

    A menu that has most of the page's letters is its text: the contents of a manual are. All of the
    nodes if nothing else would remain.
    """
    kept = list(_kept(nodes, sum(_letters(list(nodes)))))
    texts = (block.text for block in TreeReader().blocks(kept))
    return kept if any(map(_BODY_TEXT.search, texts)) else list(nodes)


def _kept(nodes: Sequence[Node], page: int) -> Iterator[Node]:
    """The nodes that are text, on a page of so many letters."""
    for node in nodes:
        if _is_menu(node, page) or _names_neighbours(node):
            continue
        if node["t"] == "Div":
            attr, inner = node["c"]
            yield {"t": "Div", "c": [attr, list(_kept(inner, page))]}
        else:
            yield node


def _is_menu(node: Node, page: int) -> bool:
    """Whether the names of an element say that it is no text, and its links bear them out."""
    if node["t"] not in ("Div", "Table"):
        return False
    identifier, classes, attributes = node["c"][0]
    names = " ".join([identifier, *classes])
    if dict(attributes).get("role") == "navigation" or _COOKIES.search(names):
        return True
    if not _NAMES.search(re.sub(r"(?<=[a-z])(?=[A-Z])", "-", names)):
        return False
    linked, unlinked = _letters(node["c"])
    letters = linked + unlinked
    return linked >= LINKED_SHARE * letters and letters < page / 2


def _names_neighbours(node: Node) -> bool:
    """Whether it is little more than links to the next page, the one before or the one above."""
    most = _MOST_UNLINKED.get(node["t"])
    if most is None or _NEIGHBOURS.isdisjoint(_link_attributes(node["c"])):
        return False
    return _letters(node["c"])[1] <= most


def _link_attributes(content: Any) -> Iterator[tuple[str, str]]:
    """The attributes of all links: name, value."""
    for child in content if isinstance(content, list) else ():
        is_node = isinstance(child, dict)
        if is_node and child["t"] == "Link":
            yield from map(tuple, child["c"][0][2])
        yield from _link_attributes(child.get("c") if is_node else child)


def _letters(content: Any, *, is_linked: bool = False) -> tuple[int, int]:
    """The characters of words in links, and of those outside of them."""
    linked = unlinked = 0
    for child in content if isinstance(content, list) else ():
        if not isinstance(child, dict):
            inner = _letters(child, is_linked=is_linked)
        elif child["t"] in ("Str", "Code"):
            text = child["c"] if child["t"] == "Str" else child["c"][1]
            inner = (len(text), 0) if is_linked else (0, len(text))
        else:
            inner = _letters(child.get("c"), is_linked=is_linked or child["t"] == "Link")
        linked, unlinked = linked + inner[0], unlinked + inner[1]
    return linked, unlinked
