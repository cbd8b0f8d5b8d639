"""Who works on a version. A lease runs out by itself when its worker dies."""

from __future__ import annotations

import logging
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

from django.db import DatabaseError, connection, transaction
from django.db.models import Exists, F, OuterRef, Q
from django.utils import timezone

from ingestion.documents.renewing import Renewed, claimed
from ingestion.models import Document, DocumentVersion
from ingestion.models.library import UNFINISHED

logger = logging.getLogger(__name__)

# A file that ends its worker this often without reaching the next state will do it again.
MAX_ATTEMPTS = 5
PAUSE_AFTER_CRASH = timedelta(seconds=10)


class LeaseLost(Exception):
    """Another attempt holds the version, or it was superseded or deleted: stop quietly."""


def claim(version_id: int) -> Lease | None:
    """The lease of an unfinished version; None when it is finished, not yet due, or held.

    None, too, while its document or collection is in the bin.
    """
    ready = Q(not_before=None) | Q(not_before__lte=timezone.now())
    kept = Document.objects.kept().filter(pk=OuterRef("document_id"))
    due = DocumentVersion.objects.filter(ready, Exists(kept), state__in=UNFINISHED)
    token = claimed(due, version_id, attempts=F("attempts") + 1)
    if token is None:
        return None
    version = DocumentVersion.objects.select_related("document__collection").get(pk=version_id)
    return Lease(version, token)


class Lease(Renewed):
    """One attempt's hold on a version, which keeps it when its block ends well.

    `version` is the row as of the claim, kept up with what `update` writes.
    """

    lost = LeaseLost

    def __init__(self, version: DocumentVersion, token: uuid.UUID) -> None:
        unfinished = DocumentVersion.objects.filter(state__in=UNFINISHED)
        super().__init__(unfinished, version.pk, token)
        self.version = version

    @property
    def keeps_crashing(self) -> bool:
        """True when earlier attempts ended without a word; an outage leaves its error code."""
        return self.version.attempts > MAX_ATTEMPTS and not self.version.error_code

    def update(self, **fields: Any) -> None:
        """Writes fields of the version. Raises LeaseLost when it is no longer ours."""
        super().update(**fields)
        for name, value in fields.items():
            setattr(self.version, name, value)

    @contextmanager
    def writing(self) -> Iterator[DocumentVersion]:
        """A transaction in which the version stays ours. Raises LeaseLost when it is not."""
        with transaction.atomic():
            # The document before the version, as everywhere: the rows written here refer to both,
            # and two orders of locking would wait on each other.
            with connection.cursor() as cursor:
                cursor.execute(
                    "SELECT 1 FROM ingestion_document WHERE id = %s AND deleted_at IS NULL"
                    " FOR KEY SHARE",
                    [self.version.document_id],
                )
                is_deleted = cursor.fetchone() is None
            if is_deleted or not self.mine.select_for_update().exists():
                raise LeaseLost
            yield self.version

    def end(self, *, failed: bool) -> None:
        """After an unforeseen error the version is given back at once, not when the lease ends."""
        if not failed:
            return
        if not connection.in_atomic_block:
            connection.close_if_unusable_or_obsolete()  # the error may be the connection's own
        try:
            self.mine.update(
                lease=None,
                leased_until=None,
                enqueued_at=None,
                not_before=timezone.now() + PAUSE_AFTER_CRASH,
            )
        except DatabaseError:
            logger.exception("Version %s waits for the end of its lease", self.version.pk)
