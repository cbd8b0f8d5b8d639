"""Markdown: amounts in dollars, placeholders, containers of MkDocs."""

from __future__ import annotations

import pytest

from .conftest import Parse
from .shorthand import code, h, li, p


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("It costs $10,000/$20,000 or $5-$10.", "It costs $10,000/$20,000 or $5-$10."),
        ("pay R$79,90 or US$1,499.00 (A$2,299)", "pay R$79,90 or US$1,499.00 (A$2,299)"),
        ("the area $x^2$ of $n$ fields", "the area x^2 of n fields"),
        ("Run cmd <file> with <your-key>.", "Run cmd <file> with <your-key>."),
        ("a List<String> or Vec<T<u8>>", "a List<String> or Vec<T<u8>>"),
        ("a <b>bold</b> word<br>and <Tag>one</Tag>", "a bold word\nand one"),
    ],
)
def test_amounts_and_placeholders_stay_as_they_are_written(
    parse: Parse, text: str, expected: str
) -> None:
    (block,) = parse(text, "a.md").blocks
    assert block.text == expected


def test_bodies_of_mkdocs_containers_are_text_below_their_titles(parse: Parse) -> None:
    text = (
        '# Pump\n\n!!! note\n    Bleed the line.\n\n    - slowly\n\n!!! danger inline end "Hot"\n'
        '    Wait.\n\n    ??? tip ""\n\n        Open it.\n\n=== "Linux"\n\n'
        "    ```sh\n    vent 30\n    ```\n\nStart.\n\n!!! is no mark here\n\n"
        "```\n!!! note\n    An example.\n```\n"
    )
    assert list(parse(text, "a.md").blocks) == [
        h(1, "Pump"),
        p("Note"),
        p("Bleed the line."),
        li(0, "slowly"),
        p("Hot"),
        p("Wait."),
        p("Open it."),
        p("Linux"),
        code("vent 30"),
        p("Start."),
        p("!!! is no mark here"),
        code("!!! note\n    An example."),
    ]
