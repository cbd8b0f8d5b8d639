"""JSON and JSON Lines -> "path: value" paragraphs; keys near the top become headings."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from ingestion.domain import Block, BlockKind
from ingestion.files import filetypes
from ingestion.parsing.formats.encoding import decode
from ingestion.parsing.formats.markup import TOO_DEEP_WARNING, plain_text
from ingestion.parsing.formats.text import PARAGRAPH_CHARS, paragraph_blocks
from ingestion.parsing.limits import ParseLimits
from ingestion.parsing.protocol import Extraction, Source

# Objects are decoded as tuples of (key, value) pairs, so that a repeated key keeps all values;
# arrays as lists, and all else as text.
_DECODER = json.JSONDecoder(
    object_pairs_hook=tuple, parse_int=str, parse_float=str, parse_constant=str, strict=False
)
_DEEPEST = 200
# No heading of level 1: the file's name is a better title than its first key.
_TOP_LEVEL = 2
_DEEPEST_HEADING = 4
_LABELS = ("title", "name", "label", "headline", "subject")
_LONGEST_LABEL = 120


class JsonParser:
    """Numbers stay as written. Invalid JSON is read as plain text, with a warning."""

    name = "json"

    def extract(self, source: Source) -> Extraction:
        text = decode(source.path.read_bytes())
        if source.file_type == filetypes.JSON_LINES:
            return _lines_extraction(text, source.limits)
        try:
            value = _DECODER.decode(text)
        except RecursionError:
            return plain_text(text, TOO_DEEP_WARNING)
        except json.JSONDecodeError as error:
            return _invalid(text, error, source.limits)
        if _is_deep(value):
            return plain_text(text, TOO_DEEP_WARNING)
        return Extraction(_bounded(value, _TOP_LEVEL, source.limits))


def _invalid(text: str, error: json.JSONDecodeError, limits: ParseLimits) -> Extraction:
    """The extraction of an invalid .json file: as JSON Lines if it is that, else as plain text."""
    first_lines = [line for line in text.splitlines()[:20] if line.strip()][:2]
    if len(first_lines) == 2 and all(_read(line) is not None for line in first_lines):
        return _lines_extraction(text, limits)
    return plain_text(
        text,
        f"This is not valid JSON (line {error.lineno}: {error.msg}): "
        "it was indexed as plain text. Correct that line and upload the file again.",
        is_cut_off=_ends_early(text, error),
    )


def _ends_early(text: str, error: json.JSONDecodeError) -> bool:
    """Whether the end of the JSON is missing: it ends within a value or a text."""
    return error.pos >= len(text.rstrip()) or error.msg.startswith("Unterminated")


def _lines_extraction(text: str, limits: ParseLimits) -> Extraction:
    extraction = Extraction(iter(()))
    extraction.blocks = _records(text, limits, extraction)
    return extraction


def _records(text: str, limits: ParseLimits, extraction: Extraction) -> Iterator[Block]:
    broken = records = 0
    pair: tuple[Any] | None = None
    for line in text.split("\n"):
        if not line.strip():
            continue
        records += 1
        limits.check_table(records)
        pair = _read(line)
        if pair is None:
            broken += 1
            yield from paragraph_blocks(line.strip())
        else:
            yield from _record(pair[0], _TOP_LEVEL)
    if broken:
        extraction.cut_off(pair is None)
        extraction.warnings.append(
            f"{broken} {'line is' if broken == 1 else 'lines are'} not valid JSON and "
            f"{'was' if broken == 1 else 'were'} indexed as plain text."
        )


def _read(line: str) -> tuple[Any] | None:
    """The value of one line as a 1-tuple; None if it is not JSON or nests too deeply."""
    try:
        value = _DECODER.decode(line.strip())
    except (json.JSONDecodeError, RecursionError):
        return None
    return None if _is_deep(value) else (value,)


def _is_deep(value: Any) -> bool:
    """Whether containers nest more than _DEEPEST deep."""
    level = [value]
    for _ in range(_DEEPEST + 1):
        level = [
            child
            for parent in level
            if isinstance(parent, list | tuple)
            for child in (parent if isinstance(parent, list) else (pair[1] for pair in parent))
            if isinstance(child, list | tuple)
        ]
        if not level:
            return False
    return True


def _bounded(value: Any, level: int, limits: ParseLimits) -> Iterator[Block]:
    """The blocks of a whole file. Raises ParseLimitExceeded past the limit of table rows."""
    for count, block in enumerate(_value(value, "", level)):
        limits.check_table(count)
        yield block


def _value(value: Any, path: str, level: int) -> Iterator[Block]:
    if isinstance(value, tuple):
        yield from _object(value, path, level)
    elif _holds_objects(value):
        key = _key(value)
        named = any(isinstance(item, tuple) and _label(item, key) for item in value)
        for item in value:
            yield from _record(item, level, key, are_named=named)
    else:
        yield from paragraph_blocks("\n".join(_flat(value, path)))


def _key(items: list[Any]) -> str:
    """The key of texts that tell three records or more apart, if each begins with one."""
    firsts = [item[0] for item in items if isinstance(item, tuple) and item]
    texts = {value for _, value in firsts if isinstance(value, str)}
    keys = {key for key, _ in firsts}
    return keys.pop() if len(texts) == len(items) > 2 and len(keys) == 1 else ""


def _record(item: Any, level: int, key: str = "", *, are_named: bool = False) -> Iterator[Block]:
    """The blocks of one array element or one line, below its label as a heading, if it has one.

    Paths start at the record, without its number. A short record among such without labels has no
    headings within: they would stand above the next record, too.
    """
    if isinstance(item, tuple):
        label = _label(item, key)
        if label and level <= _DEEPEST_HEADING:
            yield Block(BlockKind.HEADING, label, level=level)
            level += 1
        if not (label or are_named) and sum(map(len, _flat(item, ""))) <= PARAGRAPH_CHARS:
            level = _DEEPEST_HEADING + 1
        yield from _object(item, "", level)
    else:
        yield from paragraph_blocks("\n".join(_flat(item, "")))


def _object(pairs: tuple[tuple[str, Any], ...], path: str, level: int) -> Iterator[Block]:
    """The plain members in one paragraph, then each container as a section."""
    simple: list[str] = []
    sections: list[tuple[str, Any]] = []
    for key, value in pairs:
        if level <= _DEEPEST_HEADING and value and _is_section(value):
            sections.append((key, value))
        else:
            simple += _flat(value, _joined(path, key))
    yield from paragraph_blocks("\n".join(simple))
    for key, value in sections:
        yield Block(BlockKind.HEADING, key, level=level)
        yield from _value(value, _joined(path, key), level + 1)


def _is_section(value: Any) -> bool:
    return isinstance(value, tuple) or _holds_objects(value)


def _holds_objects(value: Any) -> bool:
    return isinstance(value, list) and any(isinstance(item, tuple) for item in value)


def _flat(value: Any, path: str) -> Iterator[str]:
    """One line with its path for each value within `value`."""
    if isinstance(value, tuple):
        for key, member in value:
            yield from _flat(member, _joined(path, key))
    elif isinstance(value, list) and any(isinstance(item, list | tuple) for item in value):
        for number, item in enumerate(value):
            yield from _flat(item, f"{path}[{number}]")
    else:
        yield _line(path, value)


def _line(path: str, value: Any) -> str:
    text = ", ".join(map(_scalar, value)) if isinstance(value, list) else _scalar(value)
    return f"{path}: {text}" if path else text


def _scalar(value: Any) -> str:
    if isinstance(value, str):
        return value
    return {None: "null", True: "true", False: "false"}.get(value, "")


def _joined(path: str, key: str) -> str:
    return f"{path}.{key}" if path else key


def _label(pairs: tuple[tuple[str, Any], ...], key: str) -> str:
    """The record's title, name or value of `key`, if short enough for a heading; else empty."""
    values = {name.lower(): value for name, value in pairs if isinstance(value, str)}
    for name in (*_LABELS, key.lower()):
        label = values.get(name, "").strip()
        if label and len(label) <= _LONGEST_LABEL and not label.replace(".", "").isdigit():
            return label
    return ""


PARSER = JsonParser()
