"""What a local model's tokenizer file says: the tokenizer, its padding, the ends of a text."""

from __future__ import annotations

from pathlib import Path

from tokenizers import Tokenizer as Encoder
from tokenizers.normalizers import BertNormalizer
from tokenizers.pre_tokenizers import BertPreTokenizer

from ingestion.errors import EmbeddingRejected


def encoder_of(tokenizer: Path | bytes) -> Encoder:
    """The tokenizer of a file, or of its bytes. Raises EmbeddingRejected."""
    try:
        if isinstance(tokenizer, bytes):
            return Encoder.from_buffer(tokenizer)
        return Encoder.from_file(str(tokenizer))
    except Exception as error:  # the library raises bare Exception
        named = "of the packaged model" if isinstance(tokenizer, bytes) else str(tokenizer)
        raise EmbeddingRejected(
            f"The tokenizer {named} cannot be read: {error}. Copy the file again."
        ) from error


def ends_of_wordpiece(encoder: Encoder) -> tuple[int, int] | None:
    """The tokens before and after a text, if the tokenizer is BERT's; else None."""
    normalizer, cutter = encoder.normalizer, encoder.pre_tokenizer
    if not (isinstance(normalizer, BertNormalizer) and isinstance(cutter, BertPreTokenizer)):
        return None
    ends = encoder.post_process(encoder.encode("", add_special_tokens=False)).ids
    around = encoder.post_process(encoder.encode("a", add_special_tokens=False)).ids
    is_around = len(ends) == 2 and (around[0], around[-1]) == tuple(ends)
    return (int(ends[0]), int(ends[1])) if is_around else None


def pad_id(encoder: Encoder) -> int:
    """The padding token's id. RoBERTa-like models derive positions from it despite the mask."""
    if encoder.padding:
        return int(encoder.padding["pad_id"])
    known = (encoder.token_to_id(token) for token in ("[PAD]", "<pad>"))
    return next((found for found in known if found is not None), 0)
