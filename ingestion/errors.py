"""Errors of ingestion, with messages that say what was wrong and what to do.

Boundaries turn these into a 400, a form error or a document's failed state.
"""

from __future__ import annotations

from common import UserError


class IngestionError(UserError):
    """Base of all ingestion errors. `str(error)` is fit for the person who uploaded."""

    code = "ingestion_error"


class RefusedUpload(IngestionError):
    """The file was refused on upload; nothing was stored."""

    code = "refused"


class EmptyFile(RefusedUpload):
    code = "empty_file"


class FileTooLarge(RefusedUpload):
    code = "file_too_large"
    status = 413


class UnsupportedType(RefusedUpload):
    """No parser reads this content, or the extension and the content disagree."""

    code = "unsupported_type"


class QuotaUsedUp(IngestionError):
    """The upload exceeds the uploader's daily quota, which is reset in `retry_after` seconds."""

    code = "quota_exceeded"
    status = 429


class NotStored(IngestionError):
    """The file could not be stored, for example on a full disk; nothing remains of it."""

    code = "not_stored"
    status = 507


class StorageUnavailable(NotStored, OSError):
    """The object storage of the originals does not answer, or refuses this site."""

    code = "storage_unavailable"
    status = 503


class ParseFailed(IngestionError):
    """The stored file cannot be parsed; a retry will not help."""

    code = "parse_failed"


class EncryptedFile(ParseFailed):
    code = "encrypted"


class DamagedFile(ParseFailed):
    code = "damaged"


class TypeMismatch(ParseFailed):
    """The file's content does not match its name."""

    code = "type_mismatch"


class NoText(ParseFailed):
    code = "no_text"


class ParseLimitExceeded(ParseFailed):
    """Parsing exceeded a limit on time, memory, pages or output."""

    code = "parse_limit"


class PageNotDrawn(ParseFailed):
    """The picture of a page cannot be drawn; its text is not affected."""

    code = "page_not_drawn"


class PicturesBusy(IngestionError):
    """Too many pictures are being drawn: try again in some seconds."""

    code = "pictures_busy"


class RepeatedCrash(ParseFailed):
    """Several attempts ended with a crash of the worker, not with an error."""

    code = "repeated_crash"


class EmbeddingError(IngestionError):
    """Base of embedding errors."""

    code = "embedding_error"


class EmbeddingUnavailable(EmbeddingError):
    """The model cannot be reached or is overloaded: retry later.

    `retry_after`: the provider's Retry-After in seconds, if it sent one.
    """

    code = "embedding_unavailable"
    status = 503


class EmbeddingRejected(EmbeddingError):
    """The model refused the request or returned an invalid response: a person must act."""

    code = "embedding_rejected"


class StateConflict(IngestionError):
    """The operation is not possible in the current state; nothing was changed."""

    code = "conflict"
    status = 409


class SpaceError(IngestionError):
    """The operation is not possible in the embedding space's current state."""

    code = "embedding_space"


class RefusedEdit(IngestionError):
    """The hand edit is invalid; nothing was changed."""

    code = "refused_edit"


class InvalidMetadata(IngestionError):
    """The metadata is invalid; nothing was changed."""

    code = "invalid_metadata"


class InvalidCurrency(IngestionError):
    """The dates or superseded documents contradict each other; nothing was changed."""

    code = "invalid_currency"


class FetchError(IngestionError):
    """Base class of all errors of fetching an address."""

    code = "fetch_failed"


class AddressRefused(FetchError):
    """The address may not be fetched from this server."""

    code = "address_refused"


class TooLong(FetchError):
    """The response exceeded the limit of time or bytes for one address."""

    code = "fetch_limit"


class RetryLater(FetchError):
    """The server failed or is overloaded; `seconds` is how long to wait before a retry."""

    code = "fetch_later"

    def __init__(self, message: str, seconds: float) -> None:
        super().__init__(message)
        self.seconds = seconds


class RobotsRefused(FetchError):
    """The site's robots.txt disallows the address."""

    code = "robots_refused"
