"""How long chunks are, in tokens of the embedding model, and what that leaves for text."""

from __future__ import annotations

from dataclasses import dataclass

MIN_TARGET = 32
MAX_WINDOW = 32_768  # the longest window among today's embedding models

# [CLS] and [SEP] take two of the model's window; the other two are for byte-pair tokenizers,
# whose count of a joined text can differ by a token or so from the sum of its parts.
RESERVED_TOKENS = 4

PREFIX_SHARE = 0.4  # title and heading path may take this share of the window; a guess


@dataclass(frozen=True, slots=True)
class ChunkingOptions:
    """Sizes in the embedding model's own tokens.

    `target_tokens` is what a chunk of prose is filled to; `max_tokens` is the model's window,
    which title, heading path and text share. Raises ValueError with a sentence for a form.
    The defaults fit all-MiniLM-L6-v2: 200 of its 256 tokens leave room for a usual prefix.
    """

    target_tokens: int = 200
    overlap_tokens: int = 20
    max_tokens: int = 256

    def __post_init__(self) -> None:
        if self.target_tokens < MIN_TARGET:
            raise ValueError(
                f"The target size is {self.target_tokens} tokens; choose at least {MIN_TARGET}: "
                "shorter chunks say too little to be found."
            )
        if self.max_tokens > MAX_WINDOW:
            raise ValueError(
                f"The model's window is given as {self.max_tokens} tokens; "
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
        """Below this a passage is too short to stand alone where it has a neighbour."""
        return self.target_tokens // 4

    @property
    def prefix_tokens(self) -> int:
        """The most that title and heading path may take of the window."""
        return int(self.max_tokens * PREFIX_SHARE)
