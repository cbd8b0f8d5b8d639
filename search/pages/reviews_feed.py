"""The feed of the documents that wait for an owner's review."""

from __future__ import annotations

from typing import Any

from django.contrib.syndication.views import Feed
from django.http import Http404, HttpRequest, HttpResponse
from django.utils.cache import patch_cache_control
from django.utils.decorators import method_decorator
from django.utils.feedgenerator import Atom1Feed
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_safe

from common.accounts.models import User
from ingestion.models import Document
from search.readers import reviews


@method_decorator(require_safe, name="__call__")
class ReviewsFeed(Feed):  # type: ignore[type-arg]
    """The documents that wait for an owner's review.

    For whoever has the secret address; kept out of caches and indexes.
    """

    feed_type = Atom1Feed
    link = "/"
    title = _("Reviews · Steelyard")

    def __call__(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        response = super().__call__(request, *args, **kwargs)
        patch_cache_control(response, private=True, no_store=True)
        response["X-Robots-Tag"] = "noindex"
        response["Referrer-Policy"] = "no-referrer"
        return response

    def get_object(self, request: HttpRequest, token: str) -> User:
        owner = reviews.owner_of_feed(token)
        if owner is None:
            raise Http404
        return owner

    def items(self, owner: User) -> list[Document]:
        return list(reviews.waiting_for(owner)[: reviews.MAX_ENTRIES])

    def item_description(self, item: Document) -> str:
        return gettext("Review by %(day)s") % {"day": item.review_by}
