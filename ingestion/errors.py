"""What can go wrong with a document, each with a message that says what to do.

Boundaries turn these into a 400, a form error or a document's failed state.
"""

from __future__ import annotations


class IngestionError(Exception):
    """Base of all ingestion errors. `str(error)` is fit for the person who uploaded."""

    code = "ingestion_error"


class RefusedUpload(IngestionError):
    """The file was turned away at the door: nothing of it was stored."""

    code = "refused"


class EmptyFile(RefusedUpload):
    code = "empty_file"


class FileTooLarge(RefusedUpload):
    code = "file_too_large"


class UnsupportedType(RefusedUpload):
    """No parser reads this content, or the extension and the content disagree."""

    code = "unsupported_type"


class NotStored(IngestionError):
    """The storage would not take the file: its disk is full, say. Nothing is left of it."""

    code = "not_stored"


class ParseFailed(IngestionError):
    """The stored file cannot be read; trying again without a change will not help."""

    code = "parse_failed"


class EncryptedFile(ParseFailed):
    code = "encrypted"


class DamagedFile(ParseFailed):
    code = "damaged"


class TypeMismatch(ParseFailed):
    """The file's content is not what its name says."""

    code = "type_mismatch"


class NoText(ParseFailed):
    code = "no_text"


class ParseLimitExceeded(ParseFailed):
    """Parsing hit the limit on time, memory, pages or output."""

    code = "parse_limit"


class RepeatedCrash(ParseFailed):
    """Attempt after attempt ended without an error of its own."""

    code = "repeated_crash"


class EmbeddingError(IngestionError):
    """Base of embedding errors."""

    code = "embedding_error"


class EmbeddingUnavailable(EmbeddingError):
    """The model cannot be reached or is overloaded: worth trying again later.

    `retry_after`: seconds that it asked to be left alone, where it said so.
    """

    code = "embedding_unavailable"

    def __init__(self, message: str, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class EmbeddingRejected(EmbeddingError):
    """The model refused the request or broke its contract: a person must look."""

    code = "embedding_rejected"


class StateConflict(IngestionError):
    """What was asked does not go with the state things are in; nothing was changed."""

    code = "conflict"


class SpaceError(IngestionError):
    """An embedding space is not in the state that was asked of it."""

    code = "embedding_space"


class RefusedEdit(IngestionError):
    """A hand edit that cannot be: nothing was changed."""

    code = "refused_edit"


class InvalidMetadata(IngestionError):
    """Metadata that cannot be kept: nothing was changed."""

    code = "invalid_metadata"
