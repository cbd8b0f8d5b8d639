"""README and the pages of docs/ stay easy to read, and in plain words; `make check` runs this."""

from __future__ import annotations

import re
from pathlib import Path

import pyphen
import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
EASE = 50  # Flesch 1948; from 60 on it is plain English
# The project's word list: on the right stands what to write.
WORDS = {
    r"what was found": "the results, the candidates",
    r"(is|are) away": "cannot be reached",
    r"(is|are) at it": "works, runs",
    r"stands? around": "the neighbouring passages",
    r"in order to": "to",
    r"utili[sz]e\w*|leverag\w+": "use",
    r"please|simply": "nothing",
}
HYPHENS = pyphen.Pyphen(lang="en_US")
NOT_PROSE = re.compile(r"^ *(```+)[\s\S]*?^ *\1 *$|^ *\|.*$|^#.*$|<[^>]+>", re.MULTILINE)


def sentences(page: Path) -> list[list[str]]:
    """The words of each sentence, without code, tables, headings and the addresses of links."""
    text = NOT_PROSE.sub("", page.read_text())
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", text)
    text = re.sub(r"`[^`]*`", "code", text)
    text = re.sub(r"^ *([-*]|\d+\.) ", "\n\n", text, flags=re.MULTILINE)
    split = re.split(r"(?<=[.!?:])\s+|\n\s*\n", text)
    return [words for one in split if (words := re.findall(r"[A-Za-z]+(?:'[a-z]+)?", one))]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_a_page_is_easy_to_read(page: Path) -> None:
    read = sentences(page)
    if not read:
        return  # an index
    words = sum(map(len, read))
    syllables = sum(len(HYPHENS.positions(word)) + 1 for one in read for word in one)
    ease = 206.835 - 1.015 * words / len(read) - 84.6 * syllables / words
    assert ease >= EASE, f"{page.name}: Flesch reading ease {ease:.0f}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_pages_use_the_words_of_the_project(page: Path) -> None:
    text = NOT_PROSE.sub("", page.read_text())
    used = {word: better for word, better in WORDS.items() if re.search(rf"\b({word})\b", text)}
    assert not used, f"{page.name}: write the words on the right"
