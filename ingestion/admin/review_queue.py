"""The review queue: documents due for review, and documents that may be new editions."""

from __future__ import annotations

import re
from datetime import date
from functools import partial
from typing import Any

from django import forms
from django.contrib import admin
from django.contrib.admin.widgets import AutocompleteSelectMultiple
from django.core.exceptions import PermissionDenied, ValidationError
from django.db.models import Q
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from unfold.widgets import UnfoldAdminTextInputWidget

from common.accounts.models import User
from common.admin.mixins import OwnPages, actor, own_page
from ingestion.documents import currency
from ingestion.errors import InvalidCurrency
from ingestion.models import Document
from ingestion.models.visibility import Viewer

MAX_LISTED = 50  # of each kind: the first are decided first
KINDS = {
    "overdue": _("Overdue"),
    "due": _("Due within a month"),
    "unowned": _("Without an owner"),
    "editions": _("Looks like a new edition"),
}
_ID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")


class CurrencyForm(forms.ModelForm):  # type: ignore[type-arg]
    """A document's owner, and the documents that it supersedes."""

    owner = forms.ModelChoiceField(
        User.objects.filter(is_active=True),
        to_field_name="username",
        required=False,
        label=_("Owner"),
        widget=UnfoldAdminTextInputWidget,
        help_text=_("User name of the person responsible, who is reminded of the review."),
    )
    supersedes = forms.ModelMultipleChoiceField(
        Document.objects.none(),
        required=False,
        label=_("Supersedes"),
        widget=AutocompleteSelectMultiple(Document._meta.get_field("superseded_by"), admin.site),
        help_text=_("Older documents that it replaces: they rank below it and carry a label."),
    )
    viewer: Viewer = None

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        field: Any = self.fields.get("supersedes")
        if field is not None:  # none where the page is read alone
            field.queryset = Document.objects.visible_to(self.viewer)
            older = field.queryset.filter(pk__in=self.instance.supersedes.all())
            self.initial["supersedes"] = [row.pk for row in older]
            self.initial["owner"] = self.instance.owner and self.instance.owner.get_username()

    def clean_supersedes(self) -> Any:
        try:
            currency.check_superseded(self.instance, self.cleaned_data["supersedes"])
        except InvalidCurrency as error:
            raise ValidationError(str(error)) from error
        return self.cleaned_data["supersedes"]


class ReviewPages(OwnPages[Document]):
    """A ModelAdmin mixin with the queue and its decisions."""

    @own_page("review/")
    def review_view(self, request: HttpRequest) -> HttpResponse:
        """The documents to review among those the user may see. Runs two queries for each kind."""
        if not self.has_view_permission(request):
            raise PermissionDenied
        rows = self.get_queryset(request).select_related("owner", "edition_of", "reviewed_by")
        lists = []
        undecided = Q(edition_of__in=self.get_queryset(request).order_by().values("pk"))
        for kind, condition in {**currency.review_states(), "editions": undecided}.items():
            documents = rows.filter(condition).order_by("review_by", "pk")
            lists.append((kind, KINDS[kind], documents.count(), documents[:MAX_LISTED]))
        lists.sort(key=lambda each: not each[2])  # what has documents first
        context = {"lists": lists, "may_change": self.has_change_permission(request)}
        return self.page(request, "ingestion/document/review.html", gettext("Review"), context)

    @own_page("<int:pk>/decide/", posts=True)
    def decide_view(self, request: HttpRequest, pk: int) -> HttpResponse:
        """Carry out a decision, and return to the queue."""
        document = self.changeable(request, pk)
        self.attempt(request, partial(self._decide, request, document))
        return redirect("admin:ingestion_document_review")

    def _decide(self, request: HttpRequest, document: Document) -> str:
        user = actor(request)
        match request.POST.get("do"):
            case "right":
                currency.still_right(document, _day(request), acting_user=user)
            case "expired":
                currency.expire(document, acting_user=user)
            case "superseded":
                newer = self._newer(request, document)
                currency.supersede(document, newer, acting_user=user)
            case "edition" if document.edition_of:
                older = self.changeable(request, document.edition_of.pk)
                currency.supersede(older, document, acting_user=user)
            case "apart":
                Document.objects.filter(pk=document.pk).update(edition_of=None)
            case _:
                raise InvalidCurrency(gettext("Choose what is to be done."))
        return gettext("Noted for “%(title)s”.") % {"title": document.title}

    def _newer(self, request: HttpRequest, document: Document) -> Document:
        """The document that the form names by its address, its id or its title."""
        text = request.POST.get("newer", "").replace("\0", "").strip()
        match = _ID.search(text.lower())
        condition = Q(public_id=match[0]) if match else Q(title__iexact=text)
        rows: list[Document] = list(self.get_queryset(request).filter(condition)[:2])
        if len(rows) != 1:
            message = gettext("“%(text)s” is not the title of one document. Paste its address.")
            raise InvalidCurrency(message % {"text": text})
        return self.changeable(request, rows[0].pk)


def _day(request: HttpRequest) -> date | None:
    """The next day of review; None if the field is empty. Raises InvalidCurrency."""
    text: Any = request.POST.get("review_by", "")
    try:
        return date.fromisoformat(text) if text else None
    except ValueError as error:
        message = gettext("“%(text)s” is not a date. Write it like 2026-01-31.")
        raise InvalidCurrency(message % {"text": text}) from error
