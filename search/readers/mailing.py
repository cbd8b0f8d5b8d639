"""Mails of a worker to one person after another."""

from __future__ import annotations

import logging
import smtplib
from collections.abc import Callable, Iterable
from typing import TypeVar

from django.db import transaction

logger = logging.getLogger(__name__)

Person = TypeVar("Person")
# These concern one mail. After other errors each further mail would hold this worker in turn.
_OF_ONE_MAIL = (smtplib.SMTPRecipientsRefused, smtplib.SMTPDataError)


def mail_each(people: Iterable[Person], mail: Callable[[Person], int], *, kind: str) -> int:
    """Call `mail` for each person in a transaction; return how many mails it sent.

    A mail that is not sent undoes its transaction, so that the next call tries again.
    """
    sent = 0
    for person in people:
        try:
            with transaction.atomic():
                sent += mail(person)
        except OSError as error:
            logger.warning("A mail was not sent (%s): %s", kind, error)
            if not isinstance(error, _OF_ONE_MAIL):
                break
    return sent
