"""Free metadata: what is valid, and the typed texts that state it."""

from __future__ import annotations

import json
import string
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingestion.errors import InvalidMetadata
from ingestion.metadata import (
    MAX_KEYS,
    MAX_NUMBER,
    Metadata,
    as_key,
    as_lines,
    check_key,
    check_metadata,
    clean,
    folders_of,
    from_lines,
    read_value,
)

keys = st.from_regex(r"[a-z0-9][a-z0-9_-]{0,39}", fullmatch=True)
texts = st.text(min_size=1, max_size=30).filter(clean)
numbers = st.one_of(
    st.integers(-MAX_NUMBER, MAX_NUMBER),
    st.floats(-MAX_NUMBER, MAX_NUMBER, allow_nan=False, allow_infinity=False),
)
# What a form could take for another type is as likely as any other text.
tricky = st.sampled_from(["1", "1.0", "007", "-5", "true", "null", '"x"', '["a"]', "[1]", "1e5"])
values = st.one_of(texts, tricky, numbers, st.booleans(), st.lists(texts, min_size=1, max_size=4))
metadata = st.dictionaries(keys, values, max_size=8).map(check_metadata)
anything = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=5)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=8,
)


class TestCheck:
    @pytest.mark.parametrize(
        ("given", "kept"),
        [
            pytest.param("  a\n\tb  ", "a b", id="white space"),
            pytest.param("Ko\u0308ln\0", "Köln", id="one form of a letter, no control characters"),
            pytest.param(5.0, 5, id="a whole number"),
            pytest.param(["b", "a ", "b"], ["b", "a"], id="each text of a list once, in order"),
        ],
    )
    def test_check_gives_equal_values_one_form(self, given: Any, kept: Any) -> None:
        checked = check_metadata({"key": given})["key"]
        assert checked == kept
        assert type(checked) is type(kept)

    @pytest.mark.parametrize(
        ("given", "message"),
        [
            ([], "Metadata is a JSON object"), ("text", "Metadata is a JSON object"),
            (None, "Metadata is a JSON object"),
            ({"Part": "1"}, "“Part” is not a valid key. Use lower-case letters"),
            ({"part number": "1"}, "“part number” is not a valid key"),
            ({"": "1"}, "is not a valid key"), ({"_a": "1"}, "is not a valid key"),
            ({"größe": "1"}, "is not a valid key"), ({"a" * 41: "1"}, "at most 40"),
            ({"a\n": "1"}, "is not a valid key"), ({"a": None}, "“a” has no value"),
            ({"a": " \n"}, "“a” has no value"), ({"a": []}, "“a” has no value"),
            ({"a": ["x", ""]}, "“a” has no value"),
            ({"a": ["x", 1]}, "“a” is a list with items that are not text"),
            ({"a": [["x"]]}, "“a” is a list with items that are not text"),
            ({"a": {"b": "c"}}, "no objects within objects"),
            ({"a": float("nan")}, "Write it as text"), ({"a": float("inf")}, "Write it as text"),
            ({"a": 10**15 + 1}, "Write it as text"),
            ({"a": "x" * 1001}, "“a” has 1,001 characters; the limit is 1,000"),
            ({"a": ["x"] * 101}, "“a” lists 101 texts; the limit is 100"),
            ({f"k{n}": 1 for n in range(MAX_KEYS + 1)}, "at most 50 keys; these are 51"),
            ({f"k{n}": "x" * 1000 for n in range(20)}, "at most 20,000 characters in all"),
        ],
    )  # fmt: skip
    def test_check_names_what_to_correct(self, given: Any, message: str) -> None:
        with pytest.raises(InvalidMetadata, match=message):
            check_metadata(given)

    @given(anything)
    def test_checked_metadata_is_json_and_passes_the_check_again(self, given: Any) -> None:
        try:
            kept = check_metadata(given)
        except InvalidMetadata:
            return
        assert check_metadata(kept) == kept
        assert json.loads(json.dumps(kept, allow_nan=False)) == kept
        assert all(check_key(key) == key for key in kept)


class TestTypedTexts:
    @pytest.mark.parametrize(
        ("text", "value"),
        [
            ("Sales", "Sales"), (" 2024 ", 2024), ("-1.5", -1.5), ("0.0000001", 1e-7),
            ("007", "007"), ("1.10", "1.10"), ("1e5", "1e5"), ("NaN", "NaN"), ("9" * 20, "9" * 20),
            ("9" * 5000, "9" * 5000), ("2026-01-31", "2026-01-31"), ("true", True),
            ("True", "True"), ("null", "null"), ('"2024"', "2024"), ('["a", "b"]', ["a", "b"]),
            ("[1]", "[1]"), ('{"a": 1}', '{"a": 1}'), ("[" * 5000, "[" * 5000),
        ],
    )  # fmt: skip
    def test_typed_values_are_read_without_loss(self, text: str, value: Any) -> None:
        found = read_value(text)
        assert found == value
        assert type(found) is type(value)

    def test_lines_name_keys_and_values(self) -> None:
        text = 'department: Sales\n\nyear : 2024\r\nlink: https://example.org/a\ntags: ["a", "b"]\n'
        assert from_lines(text) == {
            "department": "Sales",
            "year": 2024,
            "link": "https://example.org/a",
            "tags": ["a", "b"],
        }

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("Sales", "“Sales” names no key. Write a key and its value, as in department: Sales"),
            ("a: 1\na: 2", "“a” is given twice. Write several values as a list"),
            ("a:", "“a” has no value"),
            ("A b: c", "“A b” is not a valid key"),
        ],
    )
    def test_lines_say_what_to_correct(self, text: str, message: str) -> None:
        with pytest.raises(InvalidMetadata, match=message):
            from_lines(text)

    @given(metadata)
    def test_lines_read_back_as_the_same_metadata(self, kept: Metadata) -> None:
        again = from_lines(as_lines(kept))
        assert again == kept
        assert [type(value) for value in again.values()] == [type(v) for v in kept.values()]

    @given(st.text(max_size=40))
    def test_any_text_is_read_or_refused(self, text: str) -> None:
        try:
            from_lines(text)
        except InvalidMetadata:
            return


class TestKeysOfColumns:
    @pytest.mark.parametrize(
        ("name", "key"),
        [
            ("Part Number", "part_number"),
            (" Größe (mm)", "grosse_mm"),
            ("due-date", "due-date"),
            ("Owner", "owner"),
            ("№ 5", "no_5"),
        ],
    )
    def test_column_names_become_lower_case_keys(self, name: str, key: str) -> None:
        assert as_key(name) == key

    @pytest.mark.parametrize("name", ["名前", "", "??", "x" * 41])
    def test_column_names_without_a_valid_letter_are_refused(self, name: str) -> None:
        with pytest.raises(InvalidMetadata, match="not a valid key"):
            as_key(name)

    @given(st.text(alphabet=string.printable, max_size=60))
    def test_keys_of_keys_are_unchanged(self, name: str) -> None:
        try:
            key = as_key(name)
        except InvalidMetadata:
            return
        assert as_key(key) == key == check_key(key)


@pytest.mark.parametrize(
    ("path", "folders"),
    [
        ("hr/leave/form.pdf", {"folder": ["hr", "hr/leave"]}),
        ("form.pdf", {}),
        ("", {}),
        ("x" * 1_001 + "/form.pdf", {}),
        ("/".join("abcdefgh" for _ in range(150)) + "/form.pdf", {}),
    ],
    ids=["nested", "none", "no path", "too long", "too deep"],
)
def test_a_path_leads_through_these_folders(path: str, folders: dict[str, list[str]]) -> None:
    assert folders_of(path) == folders
