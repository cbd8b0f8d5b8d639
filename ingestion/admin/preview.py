"""The preview page: a file's chunks under given settings, without indexing it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django import forms
from django.conf import settings
from django.core.files.uploadedfile import UploadedFile
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from unfold.widgets import UnfoldAdminIntegerFieldWidget, UnfoldAdminSelectWidget

from ingestion.admin.fields import LanguageField, language_name
from ingestion.documents.previewing import ChunkPreview, preview_chunks
from ingestion.errors import FileTooLarge, IngestionError
from ingestion.files.storage import display_name
from ingestion.models import Collection
from ingestion.models.library import Viewer
from ingestion.parsing.scratch import scratch_directory

# This many chunks already make a long page and are enough to judge the settings.
MAX_SHOWN = 200


class PreviewForm(forms.Form):
    """The chunk sizes. The file is not a field, because browsers do not keep files."""

    collection = forms.ModelChoiceField(
        Collection.objects.none(),
        required=False,
        widget=UnfoldAdminSelectWidget,
        empty_label=_("None: the sizes below"),
        help_text=_("Its chunk sizes and language apply if the fields below are empty."),
    )
    chunk_tokens = forms.IntegerField(
        label=_("Chunk size"),
        min_value=32,
        max_value=2000,
        required=False,
        widget=UnfoldAdminIntegerFieldWidget,
        help_text=_("In tokens of the embedding model; 200 by default."),
    )
    overlap_tokens = forms.IntegerField(
        label=_("Overlap"),
        min_value=0,
        required=False,
        widget=UnfoldAdminIntegerFieldWidget,
        help_text=_("Tokens repeated in the next chunk; less than half the size."),
    )
    language = LanguageField(empty=_("Detected from the text"), help_text="")

    def __init__(self, *args: Any, viewer: Viewer, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["collection"].queryset = Collection.objects.visible_to(viewer)  # type: ignore[attr-defined]

    def sizes(self) -> dict[str, Any]:
        """The sizes and language of the form; the collection's for empty fields."""
        given = self.cleaned_data
        shelf: Collection = given["collection"] or Collection()
        sizes = {
            name: getattr(shelf, name) if given[name] is None else given[name]
            for name in ("chunk_tokens", "overlap_tokens")
        }
        return {**sizes, "language": given["language"] or shelf.language}


def preview_page(request: HttpRequest, context: dict[str, Any]) -> HttpResponse:
    """The page with the form and the chunks of the posted file."""
    posted = request.method == "POST"
    initial = {"collection": request.GET.get("collection")}
    form = PreviewForm(request.POST if posted else None, initial=initial, viewer=request.user)
    file = request.FILES.get("file") if posted else None
    if posted and form.is_valid() and file is not None:
        try:
            context |= _shown(_preview(file, form), display_name(file.name or "unnamed"))
        except (IngestionError, ValueError) as error:
            context["problem"] = str(error)
    context |= {
        "form": form,
        "no_file": posted and file is None,
        "max_megabytes": settings.MAX_UPLOAD_BYTES // (1024 * 1024),
    }
    return TemplateResponse(request, "admin/ingestion/document/preview.html", context)


def _preview(file: UploadedFile[bytes], form: PreviewForm) -> ChunkPreview:
    """The preview of a temporary copy of the file."""
    if (file.size or 0) > settings.MAX_UPLOAD_BYTES:
        limit = settings.MAX_UPLOAD_BYTES // (1024 * 1024)
        raise FileTooLarge(gettext("The file is larger than %(limit)d MB.") % {"limit": limit})
    with scratch_directory() as folder:
        path = Path(folder, "previewed")
        with path.open("wb") as copy:
            for block in file.chunks():
                copy.write(block)
        return preview_chunks(
            path, display_name(file.name or "unnamed"), parts_to=folder, **form.sizes()
        )


def _shown(found: ChunkPreview, file_name: str) -> dict[str, Any]:
    return {
        "found": found,
        "file_name": file_name,
        "chunks": found.chunks[:MAX_SHOWN],
        "found_language": language_name(found.language) if found.language else gettext("unknown"),
        "kinds": [(kind.replace("_", " "), count) for kind, count in found.kinds],
    }
