"""Free metadata: facts about a document that its file does not state. Pure.

A flat JSON object of strings, numbers, booleans and lists of strings. A date is a string such as
2026-01-31, since JSON has no dates of its own.

check_metadata -> the normalised object, or InvalidMetadata
from_lines     -> the same from "key: value" lines of a form (inverse: `as_lines`)
from_pairs     -> the same from "key=value" options of a command
edited         -> the same with tags and keys added and removed
folders_of     -> the folders that an imported file's path leads through
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterable, Mapping
from decimal import Decimal
from pathlib import PurePosixPath
from typing import Any

from ingestion.errors import InvalidMetadata

Value = str | int | float | bool | list[str]
Metadata = dict[str, Value]

# All guesses: ample for a record's fields, small enough to be returned with every result.
MAX_KEYS = 50
MAX_KEY_CHARS = 40
MAX_TEXT_CHARS = 1_000
MAX_LIST_ITEMS = 100
MAX_CHARS = 20_000
# Integers up to here are exact in JavaScript and as doubles.
MAX_NUMBER = 10**15
# The keys that a collection offers as filters: a longer list would not help.
MAX_FACET_KEYS = 10

# The key whose texts are a document's tags.
TAGS = "tags"
# The key of the folders above a file that was imported with others, from the outermost inwards, so
# that a filter by one finds what is in the folders below it, too.
FOLDER = "folder"

KEY = rf"[a-z0-9][a-z0-9_-]{{0,{MAX_KEY_CHARS - 1}}}"
_KEY = re.compile(KEY)
_KEY_RULE = (
    f"Use lower-case letters (a-z), digits, “_” and “-”, at most {MAX_KEY_CHARS} in all, such as "
    "part_number."
)


def check_metadata(data: Any) -> Metadata:
    """The normalised metadata: strings in NFC, runs of white space as one space. Idempotent.

    Raises InvalidMetadata with what to correct.
    """
    if not isinstance(data, Mapping):
        raise InvalidMetadata(
            'Metadata is a JSON object of keys and values, such as {"department": "Sales"}.'
        )
    if len(data) > MAX_KEYS:
        raise InvalidMetadata(f"Metadata has at most {MAX_KEYS} keys; these are {len(data)}.")
    checked = {check_key(key): _value(key, value) for key, value in data.items()}
    if len(json.dumps(checked, ensure_ascii=False)) > MAX_CHARS:
        raise InvalidMetadata(
            f"Metadata takes at most {MAX_CHARS:,} characters in all. Put long texts into the "
            "document itself."
        )
    return checked


def folders_of(path: str) -> Metadata:
    """The folders above a relative path: {"folder": ["hr", "hr/leave"]} of hr/leave/form.pdf.

    Empty if there are none, or if they are too many or too long for metadata.
    """
    above = [str(folder) for folder in PurePosixPath(path).parents][-2::-1]
    try:
        return check_metadata({FOLDER: above}) if above else {}
    except InvalidMetadata:
        return {}


def check_key(key: Any) -> str:
    """The key, unchanged. Raises InvalidMetadata if it is not valid."""
    if not isinstance(key, str) or not _KEY.fullmatch(key):
        raise InvalidMetadata(f"“{_shortened(key)}” is not a valid key. {_KEY_RULE}")
    return key


def as_key(name: str) -> str:
    """The key for a column's heading: “Part Number” becomes part_number.

    Raises InvalidMetadata if no letter or digit of it can be kept.
    """
    letters = unicodedata.normalize("NFKD", name).casefold().encode("ascii", "ignore").decode()
    key = re.sub(r"[^a-z0-9_-]+", "_", letters).strip("_-")
    return check_key(key) if key else check_key(name)


def clean(text: str) -> str:
    """`text` in NFC, with control characters and runs of white space as one space."""
    normal = unicodedata.normalize("NFC", text)
    return " ".join(
        "".join(" " if unicodedata.category(c) in {"Cc", "Cs"} else c for c in normal).split()
    )


def read_value(text: str) -> Any:
    """The value of a text that a person typed: number, boolean, JSON string or list, or the text.

    A number must be written in its canonical form: 007 and 1.10 stay text.
    """
    text = text.strip()
    try:
        value = json.loads(text, parse_constant=str)
    except (ValueError, RecursionError):
        return text
    if isinstance(value, list):
        return value if all(isinstance(one, str) for one in value) else text
    if isinstance(value, str | bool):
        return value
    is_number = isinstance(value, int | float) and abs(value) <= MAX_NUMBER
    return value if is_number and _written(value) == text else text


def texts(value: Value) -> list[str]:
    """The value as a list of texts, as filters use them."""
    if isinstance(value, list):
        return value
    if isinstance(value, str):
        return [value]
    return [json.dumps(value) if isinstance(value, bool) else _written(value)]


def tags_of(metadata: Mapping[str, Any]) -> list[str]:
    """The texts of the key `tags`."""
    value = metadata.get(TAGS)
    return [] if value is None else texts(value)


def edited(
    metadata: Mapping[str, Any],
    *,
    add_tags: Iterable[str] = (),
    remove_tags: Iterable[str] = (),
    give: Mapping[str, Any] | None = None,
    drop: Iterable[str] = (),
) -> Metadata:
    """The metadata without the keys in `drop`, with the values of `give`, and with changed tags.

    A tag that is both added and removed is added. Raises InvalidMetadata.
    """
    remaining = {key: value for key, value in metadata.items() if key not in set(drop)}
    remaining |= give or {}
    removed = set(map(clean, remove_tags))
    tags = [tag for tag in tags_of(remaining) if tag not in removed]
    tags = list(dict.fromkeys([*tags, *filter(None, map(clean, add_tags))]))
    remaining.pop(TAGS, None)
    return check_metadata({**remaining, **({TAGS: tags} if tags else {})})


def as_lines(metadata: Mapping[str, Value]) -> str:
    """One “key: value” per line, which `from_lines` parses to the same metadata."""
    return "\n".join(f"{key}: {_value_text(value)}" for key, value in metadata.items())


def from_lines(text: str) -> Metadata:
    """The metadata in “key: value” lines. Raises InvalidMetadata."""
    return _from_texts(text.splitlines(), ":", "department: Sales")


def from_pairs(pairs: Iterable[str]) -> Metadata:
    """The metadata in key=value texts. Raises InvalidMetadata."""
    return _from_texts(pairs, "=", "department=Sales")


def _from_texts(texts: Iterable[str], mark: str, example: str) -> Metadata:
    values: dict[str, Any] = {}
    for text in texts:
        if not text.strip():
            continue
        key, separator, value = text.partition(mark)
        if not separator:
            raise InvalidMetadata(
                f"“{_shortened(text)}” names no key. Write a key and its value, as in {example}."
            )
        if (key := key.strip()) in values:
            raise InvalidMetadata(
                f"“{_shortened(key)}” is given twice. Write several values as a list: "
                f'{key}{mark} ["one", "two"].'
            )
        values[key] = read_value(value)
    return check_metadata(values)


def _value(key: str, value: Any) -> Value:
    if isinstance(value, list):
        return _list(key, value)
    if isinstance(value, str):
        return _text(key, value)
    if isinstance(value, bool):
        return value
    if isinstance(value, int | float):
        return _number(key, value)
    if value is None:
        raise _empty(key)
    raise InvalidMetadata(
        f"“{key}” is neither text, a number, a date, true or false, nor a list of texts. Give one "
        "of these: metadata holds no objects within objects."
    )


def _list(key: str, values: list[Any]) -> list[str]:
    if not values:
        raise _empty(key)
    if not all(isinstance(value, str) for value in values):
        raise InvalidMetadata(
            f"“{key}” is a list with items that are not text. Put each item in quotes."
        )
    if len(values) > MAX_LIST_ITEMS:
        raise InvalidMetadata(f"“{key}” lists {len(values)} texts; the limit is {MAX_LIST_ITEMS}.")
    return list(dict.fromkeys(_text(key, value) for value in values))


def _text(key: str, value: str) -> str:
    text = clean(value)
    if not text:
        raise _empty(key)
    if len(text) > MAX_TEXT_CHARS:
        raise InvalidMetadata(
            f"“{key}” has {len(text):,} characters; the limit is {MAX_TEXT_CHARS:,}."
        )
    return text


def _number(key: str, value: float) -> float:
    if not abs(value) <= MAX_NUMBER:  # not for NaN, either
        raise InvalidMetadata(
            f"“{key}” is beyond ±{MAX_NUMBER:,}, or not a number. Write it as text, in quotes."
        )
    return int(value) if value == int(value) else value


def _empty(key: str) -> InvalidMetadata:
    return InvalidMetadata(f"“{key}” has no value. Give it one, or leave the key out.")


def _value_text(value: Value) -> str:
    if isinstance(value, list) or (isinstance(value, str) and read_value(value) != value):
        return json.dumps(value, ensure_ascii=False)
    return texts(value)[0]


def _written(number: float) -> str:
    """A number in decimal digits, without an exponent."""
    return format(Decimal(repr(number)), "f")


def _shortened(text: object) -> str:
    return str(text)[:60]
