"""Reviews of the documents that a person owns: a mail when they are due, and a feed.

An owner is mailed twice at most for one day of review: when it comes near, and once it is over.
"""

from __future__ import annotations

import logging
import smtplib
from collections.abc import Sequence

from django.conf import settings
from django.core import signing
from django.core.mail import EmailMessage
from django.db import transaction
from django.db.models import F, Q
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext

from common.accounts.models import User
from ingestion.documents.currency import review_states
from ingestion.models import Document
from ingestion.models.documents import DocumentQuerySet

logger = logging.getLogger(__name__)

MAX_ENTRIES = 50  # in a feed or a mail; the rest comes with the next one
_FEED = signing.Signer(salt="search.readers.reviews")
# These concern one mail. After other errors each further mail would hold this worker in turn.
_OF_ONE_MAIL = (smtplib.SMTPRecipientsRefused, smtplib.SMTPDataError)


def waiting_for(owner: User) -> DocumentQuerySet:
    """The owner's documents whose review is due or overdue, the most urgent first."""
    states = review_states()
    documents = Document.objects.visible_to(owner).filter(states["due"] | states["overdue"])
    rows = documents.filter(owner=owner).select_related("collection").defer("title_terms")
    return rows.order_by("review_by", "pk")


def remind() -> int:
    """Mail each owner the documents of which no reminder was sent; return the number of mails.

    A mail that is not sent undoes its transaction, so that the next call tries again.
    """
    today, states = timezone.localdate(), review_states()
    unsaid = Q(reminded=None) | Q(review_by__lt=today, reminded__lte=F("review_by"))
    due = Document.objects.filter(unsaid, states["due"] | states["overdue"]).order_by()
    owners = User.objects.filter(pk__in=due.values("owner"), is_active=True, email__isnull=False)
    sent = 0
    for owner in owners:
        try:
            with transaction.atomic():
                rows = waiting_for(owner).select_for_update(of=("self",), skip_locked=True)
                documents = list(rows.filter(unsaid)[:MAX_ENTRIES])
                mailed = Document.objects.filter(pk__in=[each.pk for each in documents])
                mailed.update(reminded=today)
                sent += _message(owner, documents).send() if documents else 0
        except OSError as error:
            logger.warning("A mail about reviews was not sent: %s", error)
            if not isinstance(error, _OF_ONE_MAIL):
                break
    return sent


def _message(owner: User, documents: Sequence[Document]) -> EmailMessage:
    queue = reverse("admin:ingestion_document_review") if owner.is_staff else ""
    context = {"documents": documents, "today": timezone.localdate(), "queue": queue}
    context |= {"base": settings.SITE_URL.rstrip("/"), "feed": feed_of(owner)}
    text = render_to_string("search/me/reviews.txt", context)
    subject = gettext("[Steelyard] Documents wait for your review")
    headers = {"Auto-Submitted": "auto-generated"}
    return EmailMessage(subject, text, to=[str(owner.email)], headers=headers)


def feed_of(owner: User) -> str:
    """The path of an owner's feed, until it is renewed or the owner's password changes."""
    token = _FEED.sign_object([owner.pk, _stamp(owner)])
    return reverse("search:reviews-feed", args=(token,))


def renew_feed(owner: User) -> None:
    """Give the owner's feed another address; those given before become invalid."""
    User.objects.filter(pk=owner.pk).update(review_feed=F("review_feed") + 1)


def _stamp(owner: User) -> str:
    return f"{owner.get_session_auth_hash()[:16]}{owner.review_feed or ''}"


def owner_of_feed(token: str) -> User | None:
    """The active owner whose feed has this token; None for a wrong token."""
    try:
        pk, stamp = _FEED.unsign_object(token)
    except (signing.BadSignature, ValueError, TypeError):
        return None
    owner = User.objects.filter(pk=pk, is_active=True).first()
    return owner if owner and _stamp(owner) == stamp else None
