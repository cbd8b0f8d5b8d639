"""The catalogues of readers' pages: complete, correct, compiled; templates without other words."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from gettext import GNUTranslations
from pathlib import Path

import pytest
from django.utils.translation import override
from django.utils.translation.template import templatize

from ingestion.files import filetypes
from kbsite.management.commands.makemessages import MARKERS, is_for_readers
from search.presentation.labels import page_label, pages_label

ROOT = Path(__file__).resolve().parents[2]
PLACE = re.compile(r"%%|%(?:\(\w+\))?[sdg]|\{\w+\}|</?\w+[^>]*>")
FUNCTIONS = (
    dict.fromkeys(("_", "gettext", "gettext_lazy", "gettext_noop", "ngettext", "ngettext_lazy"), 1)
    | MARKERS
)
CALL = r"""\b(?:n?gettext|_)\(u?("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')"""
MARKUP = r"(?s)\{% blocktranslate.*?endblocktranslate %\}|\{#.*?#\}|<(script|code)\b.*?</\1>"
# What is the same in every language; and the names of symbols, and parameters.
NAMES = {"Steelyard", "API", "JSON", "ms"} | {"upload", "file", "next"}


@cache
def entries(language: str) -> list[tuple[list[str], list[str]]]:
    """The original of each entry of a catalogue, with its plural, and the translation's forms."""
    text = (ROOT / f"locale/{language}/LC_MESSAGES/django.po").read_text()
    assert not re.search("^#(~|, fuzzy)", text, re.MULTILINE)
    found: list[tuple[list[str], list[str]]] = []
    for block in text.strip().split("\n\n")[1:]:
        found.append(([], []))
        for name, quoted in re.findall(r'^(?:msg(id|str)\S* )?(".*")$', block, re.MULTILINE):
            strings = found[-1][bool(found[-1][1]) or name == "str"]
            strings += [""] if name else []
            strings[-1] += ast.literal_eval(quoted)
    return found


def sources(*suffixes: str) -> list[Path]:
    folders = [ROOT / name for name in ("common", "ingestion", "kbsite", "search", "templates")]
    files = [path for folder in folders for path in folder.rglob("*") if path.suffix in suffixes]
    return [path for path in files if is_for_readers(path.relative_to(ROOT).as_posix())]


def texts(path: Path) -> Iterator[str]:
    """The texts of a file that are to be translated; of plural forms the first."""
    if path.suffix != ".py":
        yield from map(ast.literal_eval, re.findall(CALL, templatize(path.read_text())))
        return
    for node in ast.walk(ast.parse(path.read_text())):
        match node:
            case ast.Call(ast.Name(name), args) if name in FUNCTIONS:
                match args[FUNCTIONS[name] - 1]:
                    case ast.Constant(str(text)):
                        yield text


@pytest.mark.parametrize("language", ["de", "fr"])
class TestCatalogue:
    def test_has_every_text_of_readers_pages_and_no_other(self, language: str) -> None:
        files = sources(".py", ".html", ".txt")
        expected = {text for path in files for text in texts(path)}
        assert {originals[0] for originals, _ in entries(language)} == expected

    def test_translates_all_with_the_places_of_the_original(self, language: str) -> None:
        for originals, forms in entries(language):
            allowed = [sorted(PLACE.findall(text)) for text in originals]
            places = [sorted(PLACE.findall(text)) for text in forms]
            assert all(forms), originals
            assert places[-1] == allowed[-1], originals
            assert places[0] in allowed, originals

    def test_is_compiled(self, language: str) -> None:
        with (ROOT / f"locale/{language}/LC_MESSAGES/django.mo").open("rb") as file:
            compiled = GNUTranslations(file)
        for originals, forms in entries(language):
            if len(originals) == 1:
                assert [compiled.gettext(*originals)] == forms
            else:
                assert [compiled.ngettext(*originals, number) for number in (1, 2)] == forms


def test_the_page_of_a_passage_is_named_in_the_readers_language() -> None:
    with override("de"):
        assert page_label(2, "application/pdf") == "Seite 2"
        assert page_label(2, filetypes.PPTX.media_type) == "Folie 2"
        assert pages_label(1, "application/pdf") == "1 Seite"
        assert pages_label(4, filetypes.PPTX.media_type) == "4 Folien"


def test_templates_have_no_words_that_are_not_translated() -> None:
    for path in sources(".html"):
        text = re.sub(r"\{%.*?%\}|\{\{.*?\}\}", " ", re.sub(MARKUP, "", path.read_text()))
        shown = re.findall(r'(?:title|placeholder|alt|aria-label)="([^"]*)"', text)
        words = re.findall(r"[^\W\d_]{2,}", " ".join([*shown, *re.split("<[^>]*>", text)]))
        assert set(words) <= NAMES, path
