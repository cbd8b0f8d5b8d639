"""JSON, JSON Lines and XML: what a reader would search for, under headings where there are any."""

from __future__ import annotations

import json

import pytest

from ingestion.errors import ParseLimitExceeded
from ingestion.files import filetypes
from ingestion.files.filetypes import FileType, sniff
from tests.samples import builders

from .conftest import Parse
from .shorthand import h, p, table


def test_json_becomes_headings_and_paragraphs(parse: Parse) -> None:
    document = parse(builders.make_json(), "a.json")
    assert list(document.blocks) == [
        p("name: Beam handbook\nweight: 1.50\ntags: beam, hook"), h(2, "parts"), h(3, "Long arm"),
        p("name: Long arm"), h(4, "size"), p("size.cm: 95"), h(3, "size"), p("size.cm: 7"),
        h(2, "maker"), p("maker.city: Aachen"),
    ]  # fmt: skip
    assert (document.title, document.warnings) == ("", ())


@pytest.mark.parametrize(
    ("source", "texts"),
    [
        ('"only"', ["only"]),
        ('[1, true, null, "a"]', ["1, true, null, a"]),
        ('{"a": 1, "a": 2}', ["a: 1\na: 2"]),
        ('{"n": ' + "9" * 5_000 + "}", None),
        ('{"text": "half a pair \\ud83d here"}', ["text: half a pair \ufffd here"]),
        ('{"m": [[1, 2], [3]]}', ["m[0]: 1, 2\nm[1]: 3"]),
        ("[[1, [2, 3]], [true, null]]", ["[0][0]: 1\n[0][1]: 2, 3\n[1]: true, null"]),
        ('[{"id": 1}, {"id": 2}]', ["id: 1", "id: 2"]),
        ('{"empty": {}, "none": []}', ["none:"]),
    ],
)
def test_json_values_become_text(parse: Parse, source: str, texts: list[str] | None) -> None:
    found = [block.text for block in parse(source, "a.json").blocks]
    if texts is None:
        assert sum(text.count("9") for text in found) == 5_000
    else:
        assert found == texts


def test_short_records_without_labels_have_no_headings_within(parse: Parse) -> None:
    """A message's sections stood above the message after it."""
    messages = [{"user": "U1", "tags": [{"tag": "new"}]}, {"user": "U2", "by": {"real": "Ann"}}]
    assert list(parse(json.dumps(messages), "a.json").blocks) == [
        p("user: U1\ntags[0].tag: new"), p("user: U2\nby.real: Ann"),
    ]  # fmt: skip


def test_deeply_nested_objects_become_paths(parse: Parse) -> None:
    nested = json.dumps({"a": {"b": {"c": {"d": {"e": "deep", "f": [{"g": 1}]}}}}})
    assert list(parse(nested, "a.json").blocks) == [
        h(2, "a"),
        h(3, "b"),
        h(4, "c"),
        p("a.b.c.d.e: deep\na.b.c.d.f[0].g: 1"),
    ]


@pytest.mark.parametrize("depth", [500, 50_000])
def test_json_that_nests_too_deeply_is_plain_text(parse: Parse, depth: int) -> None:
    document = parse("[" * depth + '"x"' + "]" * depth, "a.json")
    assert "nested too deeply" in document.warnings[0]


def test_json_with_comments_is_plain_text_with_a_warning(parse: Parse) -> None:
    document = parse('{\n  // a comment\n  "a": 1\n}', "a.json")
    assert "line 2" in document.warnings[0]
    assert '"a": 1' in document.blocks[0].text


@pytest.mark.parametrize("name", ["a.jsonl", "a.ndjson", "a.json"])
def test_json_lines_become_records(parse: Parse, name: str) -> None:
    document = parse('{"title": "One", "n": 1}\n\n{"n": 2}\n{"n": \n', name)
    assert list(document.blocks) == [h(2, "One"), p("title: One\nn: 1"), p("n: 2"), p('{"n":')]
    assert document.warnings == ("1 line is not valid JSON and was indexed as plain text.",)


def test_too_many_records_are_refused(parse: Parse) -> None:
    lines = '{"n": 1}\n' * 11
    for content, name in ((lines, "a.jsonl"), (json.dumps([{"n": 1}] * 12), "a.json")):
        with pytest.raises(ParseLimitExceeded, match="more than 10 rows"):
            parse(content, name, table_rows=10)


def test_long_values_are_split_and_whole(parse: Parse) -> None:
    words = " ".join(f"word{number}" for number in range(3_000))
    blocks = parse(json.dumps({"body": words}), "a.json").blocks
    assert len(blocks) > 3
    assert " ".join(block.text for block in blocks).split() == ["body:", *words.split()]


def test_xml_records_become_sections(parse: Parse) -> None:
    document = parse(builders.make_xml(), "a.xml")
    assert list(document.blocks) == [
        h(1, "Beam handbook"), p("product: sku=D40"), h(2, "Long arm"),
        p("price (currency=EUR): 12\nstock: 3"), p("product: sku=D41"), h(2, "Hook"),
        p("price (currency=EUR): 7"),
    ]  # fmt: skip
    assert document.title == "Beam handbook"


def test_xml_attributes_of_records_are_read(parse: Parse) -> None:
    """Also beside a value with an element in it, of a record with a text, and of other names."""
    long = "Oak. " * 50
    records = (
        "<parts xmlns:x='urn:x' xmlns:xsi='urn:i' xsi:type='list'><part no='P-07' x:state='new'>"
        "<name>arm <b>long</b></name></part><part no='P-70' xml:lang='en'><name>hook</name></part>"
        f"<note no='N-1'>{long}</note></parts>"
    )
    assert [block.text for block in parse(records, "a.xml").blocks] == [
        "part: no=P-07, state=new", "arm long", "part: no=P-70\nname: hook", "note: no=N-1",
        long.strip(),
    ]  # fmt: skip


def test_xml_article_becomes_sections(parse: Parse) -> None:
    article = (
        "<!DOCTYPE article SYSTEM 'article.dtd'><article id='a1'><front><title-group>"
        "<article-title>On <i>beams</i></article-title></title-group></front><body>"
        "<sec id='s1'><title>Parts</title><p>A <b>long</b> arm&nbsp;&amp; a hook.</p>"
        "<sec><title>Hook</title><p>Iron.</p><table><tr><th>Region</th><th>Area</th></tr>"
        "<tr><td>D40</td><td>120</td></tr></table></sec></sec></body><back><ref>"
        "<article-title>Cited</article-title><year>1903</year></ref></back></article>"
    )
    document = parse(article, "a.xml")
    assert list(document.blocks) == [
        h(1, "On beams"), h(2, "Parts"), p("A long arm & a hook."), h(3, "Hook"), p("Iron."),
        table(("Region", "Area"), ("D40", "120")), p("article-title: Cited\nyear: 1903"),
    ]  # fmt: skip
    assert document.title == "On beams"


def test_tables_and_notes_of_docbook(parse: Parse) -> None:
    head = "<thead><row><entry>Model</entry><entry>Body</entry></row></thead>"
    body = "<tbody><row><entry>K-12/A</entry><entry>steel</entry></row></tbody>"
    note = "<footnote><para>With ice weekly.</para></footnote>"
    chapter = (
        f"<chapter><title>Care</title><para>Descale monthly{note}; dry it.</para>"
        f"<table><title>Kettles</title><tgroup>{head}{body}</tgroup></table>"
        f"<informaltable><tgroup>{head}{body}</tgroup></informaltable></chapter>"
    )
    rows = table(("Model", "Body"), ("K-12/A", "steel"))
    assert list(parse(chapter, "a.xml").blocks) == [
        h(1, "Care"), p("Descale monthly With ice weekly. ; dry it."), p("title: Kettles"), rows,
        rows,
    ]  # fmt: skip


def test_no_text_of_a_table_of_xml_is_lost(parse: Parse) -> None:
    """What is beside its rows, and rows that have other elements than cells: they are records."""
    row = "<row><entry>A</entry><entry>1</entry></row>"
    topic = f"<topic><table><desc>At 20 C.</desc><tgroup>{row}{row}</tgroup></table></topic>"
    assert list(parse(topic, "a.xml").blocks) == [
        p("desc: At 20 C."), table(("A", "1"), ("A", "1"), header=False),
    ]  # fmt: skip
    records = "<db><table><row><id>5</id><entry>Bo</entry></row></table></db>"
    assert list(parse(records, "a.xml").blocks) == [p("id: 5\nentry: Bo")]


def test_a_record_names_no_document(parse: Parse) -> None:
    books = "".join(f"<book><title>{name}</title></book>" for name in ("One", "Two"))
    document = parse(f"<books>{books}</books>", "a.xml")
    assert list(document.blocks) == [h(2, "One"), h(2, "Two")]
    assert document.title == ""


def test_xml_entity_is_its_text(parse: Parse) -> None:
    source = "<!DOCTYPE a [<!ENTITY prod 'D40'>]><a><b>The &prod; weighs.</b></a>"
    assert list(parse(source, "a.xml").blocks) == [p("b: The D40 weighs.")]


@pytest.mark.parametrize("encoding", ["shift_jis", "utf-16", "euc-jp"])
def test_xml_in_an_encoding_that_expat_lacks(parse: Parse, encoding: str) -> None:
    source = f'<?xml version="1.0" encoding="{encoding}"?><a><b>重さを量る</b></a>'
    assert list(parse(source.encode(encoding), "a.xml").blocks) == [p("b: 重さを量る")]


def test_html_within_a_feed_is_read(parse: Parse) -> None:
    page = "&lt;p&gt;One &lt;b&gt;two&lt;/b&gt;&lt;/p&gt;"
    feed = f"<rss><item><description>{page}</description></item></rss>"
    assert parse(feed, "a.rss").blocks[0].text == "description: One two"


def test_xml_that_nests_too_deeply(parse: Parse) -> None:
    assert parse("<a>" * 500 + "x" + "</a>" * 500, "a.xml").blocks == (p("a: x"),)
    with pytest.raises(ParseLimitExceeded, match="500 deep"):
        parse("<a>" * 501 + "x" + "</a>" * 501, "a.xml")


def test_xml_that_is_not_well_formed_is_plain_text(parse: Parse) -> None:
    document = parse("<a><b>One</a>", "a.xml")
    assert list(document.blocks) == [p("One")]
    assert "line 1: mismatched tag" in document.warnings[0]


@pytest.mark.parametrize(
    ("content", "name", "expected"),
    [
        (builders.make_eml(), "a.eml", filetypes.EML),
        (builders.make_json(), "a.JSON", filetypes.JSON),
        (builders.make_json(), "a.txt", filetypes.TEXT),
        (b"{}\n{}\n", "a.ndjson", filetypes.JSON_LINES),
        (builders.make_xml(), "a.xml", filetypes.XML),
        (builders.make_xml(), "feed", filetypes.XML),
        (builders.make_xml(), "a.txt", filetypes.TEXT),
        ("<a>ä</a>".encode("utf-16"), "a.xml", filetypes.XML),
    ],
)
def test_data_formats_are_recognised_by_content(
    content: bytes, name: str, expected: FileType
) -> None:
    assert sniff(content, name) == expected


def test_records_are_named_by_the_number_with_which_each_begins(parse: Parse) -> None:
    pumps = [{"tag": f"P-{n}", "maker": "KSB"} for n in range(1, 4)]
    assert list(parse(json.dumps(pumps).encode(), "a.json").blocks) == [
        block for n in range(1, 4) for block in (h(2, f"P-{n}"), p(f"tag: P-{n}\nmaker: KSB"))
    ]
    alike = parse(json.dumps(pumps * 2).encode(), "a.json").blocks
    assert not any(block.kind == "heading" for block in alike)
