"""Headers and footers of office documents: whether they hold more than the number of a page."""

from __future__ import annotations

import re

# "Page 3 of 7" in the languages that templates of office programs come in.
_PAGE_WORDS = frozenset(
    """page pages p pg of seite seiten s von sur página páginas pág de pagina pag di van sida sid av
    side sivu strona str z strana stránka ze oldal sayfa pagină din страница стр из сторінка з
    σελίδα από ページ 第 页 頁 共 페이지 쪽""".split()  # noqa: SIM905
)
_WORD = re.compile(r"[^\W\d_]+|\d+")


def is_margin_text(text: str, *, has_page_number: bool) -> bool:
    """Whether a header or footer, without the page number in it, has words of its own."""
    words = _WORD.findall(text.casefold())
    return any(word not in _PAGE_WORDS for word in words) if has_page_number else bool(words)
