"""A document's passages in the admin: the list, and edits by hand."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import messages
from django.core.paginator import Paginator
from django.forms import Script
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from unfold.widgets import UnfoldAdminTextareaWidget, UnfoldBooleanSwitchWidget

from common.admin.mixins import OwnPages, actor, own_page
from ingestion import services
from ingestion.documents import hand_edits
from ingestion.documents.hand_edit_transfer import parsed_text
from ingestion.errors import IngestionError
from ingestion.models import Chunk, Document
from ingestion.models.versions import MAX_QUESTION_CHARS
from ingestion.parsing.page_pictures import is_deck

PER_PAGE = 50
MAX_TEXT = 100_000


class PassageForm(forms.Form):
    """The edit of a passage."""

    text = forms.CharField(
        max_length=MAX_TEXT,
        widget=UnfoldAdminTextareaWidget(attrs={"rows": 12, "data-count-tokens": ""}),
        help_text=_("Search uses the new text as soon as it is saved."),
    )
    disabled = forms.BooleanField(
        required=False,
        label=_("Hide from search"),
        widget=UnfoldBooleanSwitchWidget,
        help_text=_("It disappears from search and from readers; it can be restored here."),
    )
    questions = forms.CharField(
        required=False,
        label=_("Pinned to questions"),
        max_length=50 * (MAX_QUESTION_CHARS + 2),
        widget=UnfoldAdminTextareaWidget(attrs={"rows": 3}),
        help_text=_("Complete questions, one per line, for which it ranks first."),
    )
    note = forms.CharField(
        required=False,
        max_length=10_000,
        widget=UnfoldAdminTextareaWidget(attrs={"rows": 2}),
        help_text=_("For colleagues: shown only to staff, here and with results."),
    )
    seen = forms.CharField(widget=forms.HiddenInput, max_length=64)

    @classmethod
    def of(cls, chunk: Chunk) -> PassageForm:
        """The form with the passage's current state."""
        edit = chunk.edit
        return cls(
            initial={
                "text": chunk.text,
                "disabled": edit.disabled if edit else False,
                "questions": "\n".join(edit.questions) if edit else "",
                "note": edit.note if edit else "",
                "seen": chunk.content_hash,
            }
        )

    def wish(self) -> services.Wish:
        cleaned = self.cleaned_data
        questions = tuple(cleaned["questions"].splitlines())
        return services.Wish(cleaned["text"], cleaned["disabled"], questions, cleaned["note"])


def _is_deck(document: Document) -> bool:
    return document.current is not None and is_deck(document.current.media_type)


class PassagePages(OwnPages[Document]):
    """A mixin for the documents' ModelAdmin: the pages of a document's passages."""

    @own_page("<int:pk>/passages/")
    def passages_view(self, request: HttpRequest, pk: int) -> HttpResponse:
        document = self.changeable(request, pk)
        chunks = _chunks(document).order_by("ordinal")
        if edited := request.GET.get("edited"):
            chunks = chunks.exclude(edit=None)
        page = Paginator(chunks, PER_PAGE).get_page(request.GET.get("page"))
        title = gettext("Passages of “%(title)s”") % {"title": document.title}
        context = {
            "document": document,
            "is_deck": _is_deck(document),
            "page": page,
            "edited": bool(edited),
            "homeless": document.edits.filter(state="homeless").count(),
        }
        return self.page(request, "ingestion/document/passages.html", title, context)

    @own_page("<int:pk>/passages/<int:chunk>/")
    def passage_view(self, request: HttpRequest, pk: int, chunk: int) -> HttpResponse:
        document = self.changeable(request, pk)
        passage = _chunk(document, chunk)
        form = PassageForm(request.POST) if request.method == "POST" else PassageForm.of(passage)
        if form.is_bound and form.is_valid() and self._saved(request, passage, form):
            return redirect(_address(document, passage))
        tokens, most = hand_edits.count_tokens(passage, str(form["text"].value() or ""))
        title = gettext("Passage %(number)d") % {"number": passage.ordinal + 1}
        script: Any = Script("admin/steelyard/token_count.js", defer=True)
        context = {
            "media": self.media + forms.Media(js=(script,)),
            "document": document,
            "is_deck": _is_deck(document),
            "form": form,
            "chunk": passage,
            "original": parsed_text(passage),
            "tokens": tokens,
            "most": most,
        }
        return self.page(request, "ingestion/document/passage.html", title, context)

    @own_page("<int:pk>/passages/<int:chunk>/undo/", posts=True)
    def passage_undo_view(self, request: HttpRequest, pk: int, chunk: int) -> HttpResponse:
        document = self.changeable(request, pk)
        passage = _chunk(document, chunk)

        def undo() -> str:
            services.edit_chunk(passage, services.Wish(), acting_user=actor(request))
            return gettext("The parsed text was restored.")

        self.attempt(request, undo)
        return redirect(_address(document, passage))

    @own_page("<int:pk>/passages/<int:chunk>/tokens/", posts=True)
    def tokens_view(self, request: HttpRequest, pk: int, chunk: int) -> JsonResponse:
        passage = _chunk(self.changeable(request, pk), chunk)
        tokens, most = hand_edits.count_tokens(passage, request.POST.get("text", "")[:MAX_TEXT])
        return JsonResponse({"tokens": tokens, "most": most})

    def _saved(self, request: HttpRequest, passage: Chunk, form: PassageForm) -> bool:
        content_hash = form.cleaned_data["seen"]
        try:
            edit = services.edit_chunk(
                passage, form.wish(), acting_user=actor(request), seen=content_hash
            )
        except Document.DoesNotExist as error:
            raise Http404 from error
        except IngestionError as error:
            form.add_error(None, str(error))
            return False
        sentence = _("The edit was saved.") if edit else _("The passage has its parsed text.")
        self.message_user(request, sentence, messages.SUCCESS)
        return True


def _chunks(document: Document) -> Any:
    """The chunks of a document's searchable version, including disabled ones."""
    chunks = Chunk.objects.filter(version=document.current_id).defer("lexemes", "terms")
    return chunks.select_related("edit__added_by")


def _chunk(document: Document, pk: int) -> Chunk:
    """The passage with the fields its token count needs; 404 if a newer version replaced it."""
    chunks = _chunks(document).select_related("edit", "version__document__collection")
    passage: Chunk | None = chunks.defer("version__text", "lexemes", "terms").filter(pk=pk).first()
    if passage is None:
        raise Http404
    return passage


def _address(document: Document, chunk: Chunk) -> str:
    return reverse("admin:ingestion_document_passage", args=(document.pk, chunk.pk))
