"""Identifiers: what is one, what is none, which spellings are equal; the laws of any text."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ingestion.domain import SectionPlace
from ingestion.identifiers import (
    DEFAULT_PATTERNS,
    Form,
    Mention,
    Pattern,
    Place,
    check_pattern,
    find_identifiers,
    index_forms,
    is_single_identifier,
    overlaps,
    placed_forms,
    query_identifiers,
)
from ingestion.identifiers.finding import MAX_IDENTIFIER_CHARS
from tests.support.laws import examples


def canonical_forms(text: str) -> list[str]:
    return [found.canonical for found in find_identifiers(text)]


def match_strength(query: Mention, stored: Sequence[Form]) -> float:
    """By the rule of the lookup in SQL: at least one side is a whole identifier."""
    query_forms = dict(index_forms(query))
    return max(
        (
            query_forms[form] * strength
            for form, strength in stored
            if form in query_forms and 1.0 in (query_forms[form], strength)
        ),
        default=0.0,
    )


def strength(query: str, text: str) -> float:
    """How well the chunk with `text` answers `query`, over all identifiers of both."""
    stored = [form for found in find_identifiers(text) for form in index_forms(found)]
    return max((match_strength(asked, stored) for asked in query_identifiers(query)), default=0.0)


RECOGNISED = [
    pytest.param("It emits CO₂ and Ｄ４０.", ["co2", "d40"], id="inferior digits, full width"),
    pytest.param("What is D40?", ["d40"], id="S1-22 question mark"),
    pytest.param("Tell me about D40.", ["d40"], id="S1-22 full stop"),
    pytest.param("Tell me about Room D40", ["d40"], id="S1-22 mixed"),
    pytest.param("30 CFR 75.1725", ["30cfr75.1725"], id="S1-07 regulation"),
    pytest.param("MSHA 30 CFR 75", ["30cfr75"], id="S1-22 part"),
    pytest.param("Explain regulation 75.1725", ["75.1725"], id="S1-22 bare section"),
    pytest.param("see §75.1725(a).", ["75.1725(a)"], id="issue 3 paragraph"),
    pytest.param("nach § 823 BGB", ["§823"], id="section sign, plain number"),
    pytest.param("case PII-2024-0042 was", ["pii2024-0042"], id="S1-07 record"),
    pytest.param("part A-1312/B fits", ["a1312b"], id="issue 3 part number"),
    pytest.param("an A-10 and an i-5", ["a10", "i5"], id="one letter with hyphen"),
    pytest.param("Region D 40", ["d40"], id="issue 3 space"),
    pytest.param("区域D40在北部", ["d40"], id="no spaces around"),
    pytest.param("ROS2 and ROS 2, not ROS1", ["ros2", "ros2", "ros1"], id="ROS2"),
    pytest.param("use rclcpp::Node here", ["rclcpp::node"], id="issue 3 scoped"),
    pytest.param("ORA-00942 or 0x80070005", ["ora00942", "0x80070005"], id="issue 3 error codes"),
    pytest.param("from 5.2.1 to v1.2.", ["5.2.1", "1.2"], id="issue 3 versions"),
    pytest.param("ask safety@example.com.", ["safety@example.com"], id="issue 3 e-mail"),
    pytest.param("in settings.py.", ["settings.py"], id="issue 3 file"),
    pytest.param("the VectorStore class", ["vectorstore"], id="S4-12 PascalCase"),
    pytest.param("getQueryset and get_queryset()", ["getqueryset", "get_queryset"], id="names"),
    pytest.param("CONN_MAX_AGE=0", ["conn_max_age"], id="constant"),
    pytest.param("`django.db.models.Model`", ["django.db.models.model"], id="dotted"),
    pytest.param("run with --noinput", ["--noinput"], id="option"),
    pytest.param("RFC 2119 and ISO 9001", ["rfc2119", "iso9001"], id="standards"),
    pytest.param("A.8.12, CC6.1 or PR.DS-5", ["a.8.12", "cc6.1", "pr.ds5"], id="controls"),
    pytest.param("AC-2(3)(a) and T1059.001.", ["ac2(3)(a)", "t1059.001"], id="enhancements"),
    pytest.param("Art. 6(1)(f), 4.3.2-b", ["§6(1)(f)", "4.3.2-b"], id="clauses"),
    pytest.param("Art. 6 Abs. 1 lit. f DSGVO, § 7 Abs.2 UWG", ["§6(1)(f)", "§7(2)"], id="German"),
    pytest.param("Art 6 (1) a; art. 6 ust. 1 lit. b RODO", ["§6(1)(a)", "§6(1)(b)"], id="spaces"),
    pytest.param("article 6, paragraphe 1, point f)", ["§6(1)(f)"], id="French"),
    pytest.param("Art. 6 (1) a person, Section 4 (new)", ["§6(1)"], id="a word is no letter"),
    pytest.param("Article 4 (1) a Member State, Art. 9 (EU)", ["§4(1)"], id="before a capital"),
    pytest.param("§ 5 Abs. 1 i.V.m. § 6, § 7 Abs. 2 a.F.", ["§5(1)", "§6", "§7(2)"], id="i.V.m."),
    pytest.param("§ 87 Abs. 1 a BetrVG", ["§87(1)(a)"], id="a letter before the law's short name"),
    pytest.param("section 5(1A), section 5(1)(1A)", ["§5(1a)", "§5(1)(1a)"], id="inserted parts"),
    pytest.param("Rule 3 point of sale, rule 5, co. in", [], id="two letters are a word"),
]


@pytest.mark.parametrize(("text", "expected"), RECOGNISED)
def test_identifiers_are_found_in_prose(text: str, expected: list[str]) -> None:
    assert canonical_forms(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "What are the safety requirements? Tell me about fire hazards.",
        "In 2024, from 2019-2024, on 2024-05-01 or 01.05.2024 or 1/5/2024.",
        "It costs 1,500.25 or 1.500 and pi is 3.14; see page 12, chapter 3.",
        "A 10 m rope, I 5 times, plan B 2, T 5, MAY 12, PAGE 7, USD 500, D 40 %",
        "well-known, state-of-the-art, and/or, mid-1990s, top-10, TCP/IP, e.g. i.e. a.m. U.S.A.",
        "SLAM, FK, EKF, Aboleth, iPhone, eBay, PhD, MHz, APIs, McDonald, NATO's",
        "2nd, 10km, 5GB, 100 ms, 3D, x--y, wait -- no, a _ b, _emphasis_, item(s)",
        "visit example.com",
        "EUR4.50, FIG-3.2, a 3.5-l engine, A.8, S.12",
        "",
    ],
)
def test_prose_numbers_and_dates_are_no_identifiers(text: str) -> None:
    assert canonical_forms(text) == []


@pytest.mark.parametrize(
    ("query", "text", "expected"),
    [
        pytest.param("D40", "Region D-40", 1.0, id="S1-07 hyphen"),
        pytest.param("D40", "Region D 40", 1.0, id="S1-07 space"),
        pytest.param("d40", "Region D40", 1.0, id="S1-28 lower case"),
        pytest.param("D40", "Region D41", 0.0, id="S1-02 neighbour"),
        pytest.param("D40", "Region D400", 0.0, id="longer number"),
        pytest.param("pii 2024 0042", "PII-2024-0042", 1.0, id="S1-07 spaces"),
        pytest.param("PII20240042", "PII-2024-0042", 1.0, id="without hyphens"),
        pytest.param("INC20240042", "PII-2024-0042", 0.0, id="another record without hyphens"),
        pytest.param("INC-2024-0042", "PII-2024-0042", 0.0, id="another record, same tail"),
        pytest.param("2024-0042", "INC-2024-0042", 0.6, id="issue 3 tail"),
        pytest.param("0042", "INC-2024-0042", 0.6, id="issue 3 last part"),
        pytest.param("1312", "A-1312/B", 0.6, id="D2 middle part"),
        pytest.param("A-1312", "A-1312/B", 0.8, id="without suffix"),
        pytest.param("EN 1092-2", "DIN EN 1092-2", 1.0, id="part of a standard"),
        pytest.param("DIN EN 1092", "DIN EN 1092-2", 0.8, id="standard without its part"),
        pytest.param("EN 1092-2", "DIN EN 1092-1", 0.0, id="another part"),
        pytest.param("75.1725", "30 CFR 75.1725", 0.6, id="S1-22 section of a regulation"),
        pytest.param("30 CFR 75.1725", "§ 75.1725", 0.6, id="regulation by its section"),
        pytest.param("75.1725", "§75.1725(a)", 0.8, id="parent section"),
        pytest.param("MSHA 30 CFR 75", "30 CFR 75.1725", 0.8, id="S1-04 part"),
        pytest.param("30 CFR 75", "30 CFR Part 75", 1.0, id="part spelt out"),
        pytest.param("30 CFR 75.1725", "30 CFR 75.1726", 0.0, id="next section"),
        pytest.param("A.8.1", "A.8.12", 0.0, id="another control"),
        pytest.param("a.8.12", "A.8.12", 1.0, id="control in lower case"),
        pytest.param("AC-2", "AC-2(3)", 0.8, id="control of an enhancement"),
        pytest.param("AC-2(3)", "AC-2(13)", 0.0, id="another enhancement"),
        pytest.param("T1059", "T1059.001", 0.8, id="technique of another"),
        pytest.param("4.3.2-b", "4.3.2-a", 0.0, id="another clause"),
        pytest.param("§ 6(1)(f)", "Article 6(1)(f)", 1.0, id="article by its paragraphs"),
        pytest.param("Art 6 (1) f", "Art. 6 Abs. 1 lit. f", 1.0, id="article as it is typed"),
        pytest.param("settings.py", "conf/settings.py", 0.6, id="file by name"),
        pytest.param("get_queryset", "ListView.get_queryset()", 0.6, id="method"),
        pytest.param("conn_max_age", "CONN_MAX_AGE", 1.0, id="constant in lower case"),
        pytest.param("ROS2", "ROS1, robotics", 0.0, id="ROS2"),
        pytest.param("2024", "INC-2024-0042", 0.0, id="a year is no part"),
        pytest.param("in 2024 we saw 1312 cases", "A-1312/B", 0.0, id="a number in prose"),
    ],
)
def test_query_identifier_matches_its_forms_in_texts(
    query: str, text: str, expected: float
) -> None:
    assert strength(query, text) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("query", "single"),
    [
        pytest.param("D40", True, id="S1-29"),
        pytest.param(' "PII-2024-0042"? ', True, id="quotes and mark"),
        pytest.param("30 CFR 75.1725", True, id="regulation"),
        pytest.param("What is D40?", False, id="a question"),
        pytest.param("D40 D41", False, id="two"),
        pytest.param("room 12", False, id="perhaps a room"),
        pytest.param("1312", False, id="a bare part"),
        pytest.param("VectorStore", False, id="a common name"),
        pytest.param("Aboleth", False, id="a proper noun"),
    ],
)
def test_a_query_that_is_one_identifier_needs_no_embedder(query: str, single: bool) -> None:
    assert is_single_identifier(query) is single


def test_form_keeps_its_best_score_then_its_best_place() -> None:
    placed = placed_forms("Report on INC-2024-0042", ("D40",), "D40 and 2024-0042 and E1101")
    assert placed["inc2024-0042"] == (Place.TITLE, 1.0)
    assert placed["2024-0042"] == (Place.BODY, 1.0)  # whole there, a tail in the title
    assert placed["d40"] == (Place.HEADING, 1.0)
    assert placed["e1101"] == (Place.BODY, 1.0)
    assert Place.TITLE < Place.HEADING < Place.BODY


@pytest.mark.parametrize(
    ("heading", "text", "place"),
    [
        ("RenameField", "RenameField\n\nIt renames.", Place.DEFINITION),
        ("rename_field()", "rename_field(old)\n\nIt renames.", Place.HEADING),
        ("RenameField", "and so on.", Place.HEADING),
        ("Field.on_delete", "Field.on_delete\n\nWhat to do.", Place.DEFINITION),
        ("Using RenameField", "Using RenameField\n\nIt renames.", Place.HEADING),
        ("RenameField and others", "RenameField and others\n\nThey rename.", Place.HEADING),
        ("§ 75.1725 Machinery", "§ 75.1725 Machinery\n\nIt shall.", Place.DEFINITION),
    ],
)
def test_section_defines_the_identifier_in_its_heading(
    heading: str, text: str, place: Place
) -> None:
    placed = placed_forms("T", (), text, sections=[SectionPlace(0, 1, heading, "a")])
    assert {where for where, strength in placed.values() if strength == 1} == {place}
    assert Place.DEFINITION < Place.TITLE


@pytest.mark.parametrize("pattern", DEFAULT_PATTERNS, ids=lambda pattern: pattern.name)
def test_the_patterns_that_ship_pass_their_own_check(pattern: Pattern) -> None:
    assert pattern.examples
    assert pattern.counter_examples
    assert check_pattern(pattern) == []


@pytest.mark.parametrize(
    ("pattern", "sentence"),
    [
        (Pattern("x", "a", "nope", ("a",)), "Unknown normaliser 'nope'"),
        (Pattern("x", "a++", "lower", ("a",)), "Possessive repeats"),
        (Pattern("x", "a" * 700, "lower", ("a",)), "longer than"),
        (Pattern("x", "INC-[0-9]+", "code"), "at least one example"),
        (Pattern("x", "INC-[0-9]+", "code", ("INC-1 b",)), "example 'INC-1 b' is not recognised"),
        (Pattern("x", "INC-[0-9]+", "code", ("INC-1",), ("INC-2",)), "counter-example 'INC-2'"),
    ],
)
def test_a_bad_pattern_is_refused_with_a_reason(pattern: Pattern, sentence: str) -> None:
    assert any(sentence in problem for problem in check_pattern(pattern))


@pytest.mark.parametrize("regex", [r"(?i)inc-\d+", r"(?:a+-)+\d", r"INC-\d+(?:\.\d+){1,8}"])
def test_a_good_pattern_is_accepted(regex: str) -> None:
    """A repeat in a repeat, too: RE2 takes no longer for it."""
    examples = {"(?i)": "Inc-7", "(?:a": "a-aa-1", "INC-": "INC-1.2"}
    pattern = Pattern("x", regex, "lower", (examples[regex[:4]],))
    assert check_pattern(pattern) == []


def test_own_patterns_replace_the_shipped_patterns() -> None:
    badge = Pattern("Badge", r"#[0-9]{3}", "lower", ("#123",))
    assert [found.canonical for found in find_identifiers("#123 D40", (badge,))] == ["#123"]


class TestOverlaps:
    TICKET = Pattern("Ticket", r"TCK-\d+", "code", examples=("TCK-100",))

    def test_distinct_pattern_has_no_overlap_warning(self) -> None:
        assert overlaps(self.TICKET, [], []) == []

    def test_overlap_warning_names_the_pattern_tried_first(self) -> None:
        broad = Pattern("Code", r"[A-Z]{3}-\d+", "code", examples=("ABC-7",))
        (lost,) = overlaps(self.TICKET, [broad], [])
        assert "“TCK-100” is recognised by “Code”" in lost
        (taken,) = overlaps(broad, [], [self.TICKET])
        assert "precedence over “Ticket” for “TCK-100”" in taken

    def test_pattern_that_matches_prose_gets_a_warning(self) -> None:
        (said,) = overlaps(Pattern("Year", r"\d{4}", "lower", examples=("2024",)), [], [])
        assert "“2023”, “2021” in ordinary prose" in said

    def test_shipped_patterns_have_no_warning(self) -> None:
        said = [
            line
            for place, pattern in enumerate(DEFAULT_PATTERNS)
            for line in overlaps(pattern, DEFAULT_PATTERNS[:place], DEFAULT_PATTERNS[place + 1 :])
        ]
        assert [line for line in said if "prose" in line] == []


PIECES = (
    "D|40|-| |/|.|::|_|§|(a)|CFR|30 |@|()|a|x.py|2024|0042|0x|--|ß|İ|\u00ad|\u2011|é|日|\n|v1.2"
)
pieces = st.sampled_from(PIECES.split("|"))
texts = st.text(max_size=200) | st.lists(pieces, max_size=40).map("".join)


@settings(max_examples=examples(300))
@given(texts)
def test_any_text_gives_ordered_separate_quotations(text: str) -> None:
    is_single_identifier(text)
    for found in (find_identifiers(text), query_identifiers(text)):
        for one in found:
            assert text[one.start : one.end] == one.text
            assert one.canonical
            forms = index_forms(one)
            assert forms[0] == (one.canonical, 1.0)
            for form in forms[1:]:  # in full counts another spelling of the whole alone
                is_whole = form.form.replace("-", "") == one.canonical
                assert form.form
                assert form.strength == 1 if is_whole else 0 < form.strength < 1
        parts = [one for one in found if len(found) == 1 or len(one.text) < len(text)]
        for left, right in pairwise(parts):  # AB12 CD34 as a whole is AB12-CD34, too
            assert left.end <= right.start


numbers = st.integers(10, 999999).map(str).filter(lambda digits: digits[:2] not in ("19", "20"))
hyphens = st.sampled_from(["-", "\u2010", "\u2011", "\u2013"])


@settings(max_examples=examples(200))
@given(st.text("DEKLQXZ", min_size=1, max_size=4), numbers, hyphens)
def test_a_code_is_one_in_every_spelling(word: str, number: str, hyphen: str) -> None:
    canonical = (word + number).lower()
    for spelling in (word + number, f"{word}{hyphen}{number}", f"{word} {number}"):
        (found,) = find_identifiers(f"in {spelling}, they say")
        assert found.canonical == canonical
        for query in (spelling, spelling.lower()):
            (asked,) = query_identifiers(query)
            assert match_strength(asked, index_forms(found)) == 1.0
    # The canonical form is itself a spelling.
    (again,) = find_identifiers(canonical)
    assert again.canonical == canonical


@settings(max_examples=examples(200))
@given(
    st.text("DEKLQXZ", min_size=2, max_size=5),
    st.integers(1990, 2030).map(str),
    st.integers(0, 9999).map("{:04}".format).filter(lambda serial: serial[:2] not in ("19", "20")),
    st.sampled_from(["-", " ", "_", "\u2011"]),
)
def test_record_is_found_by_its_number_but_not_by_the_same_number_of_another_year(
    word: str, year: str, serial: str, separator: str
) -> None:
    (found,) = find_identifiers(separator.join((word, year, serial)))
    stored = index_forms(found)
    (tail,) = query_identifiers(f"{year}-{serial}")
    assert 0 < match_strength(tail, stored) < 1
    (namesake,) = query_identifiers(f"Y{word}-{year}-{serial}")
    assert match_strength(namesake, stored) == 0


@pytest.mark.parametrize(
    "unit", ["a.", "1.", "A1-", "a/", "75.1725(a)", "a a1", "-\u2013", "--a-", "a_a"]
)
def test_a_hundred_thousand_characters_of_anything_take_linear_time(unit: str) -> None:
    # Were a pattern quadratic in the text, this would take minutes: the suite's limit is the test.
    text = (unit * 100_000)[:100_000]
    for one in find_identifiers(text)[:1000]:
        assert one.end - one.start <= MAX_IDENTIFIER_CHARS


def test_an_identifier_on_the_border_of_two_stretches_is_found_once() -> None:
    for shift in range(2030, 2060):
        text = "x " * (shift // 2) + " " * (shift % 2) + "INC-2024-0042 end"
        assert [one.canonical for one in find_identifiers(text)] == ["inc2024-0042"]


@settings(max_examples=examples(50))
@given(st.integers(150, 300), st.sampled_from(["a/", "ß_", "v_", "x.", "a1-", "A::"]))
def test_no_form_is_too_long_for_its_column(length: int, unit: str) -> None:
    text = (unit * length)[:length] + "b1.py"
    for one in find_identifiers(text):
        assert all(len(form.form) <= MAX_IDENTIFIER_CHARS for form in index_forms(one))
