"""Chunk sizes in tokens of the embedding model, and the text that is embedded of a chunk."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from ingestion.embedding.protocol import Tokenizer

LAYOUT = 2
"""Counted up when parsing and chunking make better chunks of the same files: documents whose chunks
have a smaller number are outdated, and stay searchable. 1: chunks know their sections.
2: names are found by their parts."""

MIN_TARGET = 32
MAX_WINDOW = 32_768  # the longest window of any current embedding model

# [CLS] and [SEP] take two tokens of the window. The other two are for byte-pair tokenizers,
# where the count of a joined text can differ by a token or so from the sum of its parts.
RESERVED_TOKENS = 4

PREFIX_SHARE = 0.4  # largest share of the window for title and heading path; a guess


@dataclass(frozen=True, slots=True)
class ChunkingOptions:
    """Chunk sizes in the embedding model's own tokens.

    `target_tokens` is the size to which prose is packed; `max_tokens` is the model's window,
    shared by title, heading path and text. Raises ValueError with a message for a form.
    The defaults fit all-MiniLM-L6-v2: 200 of its 256 tokens leave room for a typical prefix.
    """

    target_tokens: int = 200
    overlap_tokens: int = 20
    max_tokens: int = 256

    def __post_init__(self) -> None:
        if self.target_tokens < MIN_TARGET:
            raise ValueError(
                f"The target size is {self.target_tokens} tokens; choose at least {MIN_TARGET}: "
                "shorter chunks hold too little text to be found."
            )
        if self.max_tokens > MAX_WINDOW:
            raise ValueError(
                f"The model's window is set to {self.max_tokens} tokens; "
                f"choose at most {MAX_WINDOW}."
            )
        if self.target_tokens > self.max_tokens:
            raise ValueError(
                f"The target size of {self.target_tokens} tokens is longer than the embedding "
                f"model's window of {self.max_tokens}; choose at most {self.max_tokens}."
            )
        if self.overlap_tokens < 0:
            raise ValueError("The overlap cannot be negative; choose 0 for none.")
        if self.overlap_tokens * 2 >= self.target_tokens:
            raise ValueError(
                f"The overlap of {self.overlap_tokens} tokens is too long for a target of "
                f"{self.target_tokens}; choose less than half the target."
            )

    @property
    def tiny_tokens(self) -> int:
        """The size below which a passage is joined to a neighbour if possible."""
        return self.target_tokens // 4

    @property
    def prefix_tokens(self) -> int:
        """The largest part of the window that title and heading path may take."""
        return int(self.max_tokens * PREFIX_SHARE)


PATH_SEPARATOR = " > "
ELLIPSIS = "…"
MAX_NAME_CHARS = 200  # of a title or heading in a prefix or path; longer ones are prose


def embedding_text(
    title: str,
    heading_path: Sequence[str],
    text: str,
    tokenizer: Tokenizer | None = None,
    options: ChunkingOptions | None = None,
) -> str:
    """The text to embed: "Title > Heading > Subheading", a line break, the chunk's text.

    The title is omitted if the first heading repeats it. With the tokenizer and options that
    made the chunk, a long prefix is shortened exactly as `chunk_blocks` assumed, so that the
    result fits the model's window; without a tokenizer the prefix is not shortened.
    """
    names = _names(title, heading_path)
    if tokenizer is not None:
        budget = (options or ChunkingOptions()).prefix_tokens
        prefix = _shortened(tuple(names), budget, tokenizer)
    else:
        prefix = PATH_SEPARATOR.join(names)
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
