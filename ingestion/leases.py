"""Who works on a version. A lease runs out by itself when its worker dies."""

from __future__ import annotations

import logging
import threading
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from types import TracebackType
from typing import Any, Self

from django.conf import settings
from django.db import DatabaseError, connection, transaction
from django.db.models import Exists, F, OuterRef, Q
from django.utils import timezone

from ingestion.models import Document, DocumentVersion
from ingestion.models.library import UNFINISHED

logger = logging.getLogger(__name__)

RENEWALS_PER_LEASE = 4
# A file that ends its worker this often without reaching the next state will do it again.
MAX_ATTEMPTS = 5
PAUSE_AFTER_CRASH = timedelta(seconds=10)


class LeaseLost(Exception):
    """Another attempt holds the version, or it was superseded or deleted: stop quietly."""


def claim(version_id: int) -> Lease | None:
    """The lease of an unfinished version; None when it is finished, not yet due, or held.

    None, too, while its document or collection is in the bin.
    """
    now = timezone.now()
    token = uuid.uuid4()
    due = Q(leased_until=None) | Q(leased_until__lt=now)
    ready = Q(not_before=None) | Q(not_before__lte=now)
    kept = Document.objects.kept().filter(pk=OuterRef("document_id"))
    claimed = DocumentVersion.objects.filter(
        due, ready, Exists(kept), pk=version_id, state__in=UNFINISHED
    ).update(lease=token, leased_until=now + _duration(), attempts=F("attempts") + 1)
    if not claimed:
        return None
    version = DocumentVersion.objects.select_related("document__collection").get(pk=version_id)
    return Lease(version, token)


def _duration() -> timedelta:
    return timedelta(seconds=settings.INGESTION_LEASE_SECONDS)


class Lease:
    """One attempt's hold on a version: a context manager that renews it from a thread.

    `version` is the row as of the claim, kept up with what `update` writes.
    """

    def __init__(self, version: DocumentVersion, token: uuid.UUID) -> None:
        self.version = version
        self.token = token
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._renew, name="lease", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    @property
    def keeps_crashing(self) -> bool:
        """True when earlier attempts ended without a word; an outage leaves its error code."""
        return self.version.attempts > MAX_ATTEMPTS and not self.version.error_code

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._done.set()
        self._thread.join()
        if kind is not None:
            self._give_back()

    def update(self, **fields: Any) -> None:
        """Writes fields of the version. Raises LeaseLost when it is no longer ours."""
        if not self._mine().update(**fields):
            raise LeaseLost
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
            if is_deleted or not self._mine().select_for_update().exists():
                raise LeaseLost
            yield self.version

    def _mine(self) -> Any:
        return DocumentVersion.objects.filter(
            pk=self.version.pk, lease=self.token, state__in=UNFINISHED
        )

    def _renew(self) -> None:
        pause = _duration().total_seconds() / RENEWALS_PER_LEASE
        try:
            while not self._done.wait(pause):
                try:
                    self._mine().update(leased_until=timezone.now() + _duration())
                except DatabaseError:
                    # A database that was restarted is there again the next time, by a new
                    # connection. The work itself goes on meanwhile, as long as it can.
                    logger.exception("Could not renew the lease of version %s", self.version.pk)
                    connection.close()
        finally:
            connection.close()

    def _give_back(self) -> None:
        """After an unforeseen error: at once, not when the lease ends."""
        if not connection.in_atomic_block:
            connection.close_if_unusable_or_obsolete()  # the error may be the connection's own
        try:
            self._mine().update(
                lease=None,
                leased_until=None,
                enqueued_at=None,
                not_before=timezone.now() + PAUSE_AFTER_CRASH,
            )
        except DatabaseError:
            logger.exception("Version %s waits for the end of its lease", self.version.pk)
