"""Chunk sizes in tokens of the embedding model."""

from __future__ import annotations

from dataclasses import dataclass

LAYOUT = 4
"""Counted up when parsing and chunking make better chunks of the same files: documents whose chunks
have a smaller number are outdated, and stay searchable. 1: chunks know their sections.
2: names are found by their parts. 3: words have a normal form and second forms; tables, slides and
letterheads are read as they stand. 4: tables without lines and tables in cells are whole; text that
a tracked change deleted is left out of a DOC."""

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
