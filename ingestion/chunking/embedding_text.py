"""The text that is embedded of a chunk: its headings, and its own text."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from ingestion.chunking.options import RESERVED_TOKENS, ChunkingOptions
from ingestion.embedding.protocol import Tokenizer

PATH_SEPARATOR = " > "
ELLIPSIS = "…"
MAX_NAME_CHARS = 200  # of a title or heading in a prefix or path; longer ones are prose


def embedding_text(
    title: str,
    heading_path: Sequence[str],
    text: str,
    tokenizer: Tokenizer,
    options: ChunkingOptions,
) -> str:
    """The text to embed: "Title > Heading > Subheading", a line break, the chunk's text.

    The title is omitted if the first heading repeats it. With the tokenizer and options that
    made the chunk, a long prefix is shortened exactly as `chunk_blocks` assumed, so that the
    result fits the model's window.
    """
    prefix = _shortened(tuple(_names(title, heading_path)), options.prefix_tokens, tokenizer)
    return f"{prefix}\n{text}" if prefix else text


def short_name(name: str) -> str:
    """The name on one line, at most MAX_NAME_CHARS long."""
    # Cut before the whitespace is squeezed: a "heading" may be megabytes long.
    squeezed = " ".join(name[: MAX_NAME_CHARS * 2].split())
    if len(squeezed) <= MAX_NAME_CHARS:
        return squeezed
    return squeezed[: MAX_NAME_CHARS - 1].rstrip() + ELLIPSIS


class TextLimits:
    """The tokens of text that fit the window after a heading path of one document."""

    def __init__(self, title: str, options: ChunkingOptions, tokenizer: Tokenizer) -> None:
        def of(path: tuple[str, ...]) -> int:
            prefix = _shortened(tuple(_names(title, path)), options.prefix_tokens, tokenizer)
            return options.max_tokens - RESERVED_TOKENS - tokenizer.count(prefix)

        self.of = lru_cache(maxsize=512)(of)
        self.target = options.target_tokens

    def size(self, path: tuple[str, ...]) -> int:
        """The size of prose chunks under `path`: the target, or less if the prefix is long."""
        return min(self.target, self.of(path))


def _names(title: str, heading_path: Sequence[str]) -> list[str]:
    names = [short for name in heading_path if (short := short_name(name))]
    head = short_name(title)
    if head and not (names and names[0].casefold() == head.casefold()):
        names.insert(0, head)
    return names


@lru_cache(maxsize=512)  # the chunks of a section share their prefix
def _shortened(names: tuple[str, ...], budget: int, tokenizer: Tokenizer) -> str:
    """The names joined in at most `budget` tokens: drops middle names, then truncates the rest.

    The first name (the document) and the last (the passage's own heading) are most specific.
    """
    names_left = list(names)
    prefix = PATH_SEPARATOR.join(names_left)
    dropped = False
    while tokenizer.count(prefix) > budget and len(names_left) > 2:
        del names_left[len(names_left) // 2]
        dropped = True
        prefix = PATH_SEPARATOR.join([*names_left[:-1], ELLIPSIS, names_left[-1]])
    if tokenizer.count(prefix) <= budget:
        return prefix
    separators = 2 * (len(names_left) + dropped)
    share = max(1, (budget - separators) // len(names_left))
    clipped = [_clipped(name, share, tokenizer) for name in names_left]
    prefix = PATH_SEPARATOR.join(name for name in clipped if name)
    return prefix if tokenizer.count(prefix) <= budget else ""


def _clipped(name: str, budget: int, tokenizer: Tokenizer) -> str:
    """The name's first words, at most `budget` tokens; part of a word if no whole word fits."""
    spans = tokenizer.spans(name)
    if len(spans) <= budget:
        return name
    end = spans[budget][0]
    cut = name[:end].rstrip()
    if not name[end - 1 : end].isspace() and " " in cut:
        cut = cut.rsplit(None, 1)[0]
    while cut and tokenizer.count(cut) > budget:
        cut = cut[: len(cut) // 2].rstrip()
    return cut
