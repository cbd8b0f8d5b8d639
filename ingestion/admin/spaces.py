"""Embedding spaces in the admin: their state, and the change from one model to another."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from django import forms
from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.safestring import SafeString
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from unfold.admin import ModelAdmin
from unfold.widgets import (
    UnfoldAdminIntegerFieldWidget,
    UnfoldAdminSelectWidget,
    UnfoldAdminTextInputWidget,
)

from common.admin.live_cells import LiveCells, live, state_label
from common.admin.mixins import actor, become, own_page
from ingestion.embedding.fastembed import COMMAND, EMBEDDERS, RERANKERS
from ingestion.errors import IngestionError
from ingestion.models import EmbeddingSpace
from ingestion.models.collections import language_name
from ingestion.spaces import changes
from ingestion.spaces.index import IndexState
from ingestion.spaces.report import Report, better_models, overview, report_on, reports_on

if TYPE_CHECKING:
    from django.utils.functional import _StrOrPromise as StrOrPromise

State = EmbeddingSpace.State
VARIANTS = {
    State.ACTIVE: "success",
    State.BUILDING: "info",
    State.PREVIOUS: "",
    State.DROPPING: "warning",
}
INDEX_VARIANTS = {
    IndexState.READY: "success",
    IndexState.OUTDATED: "success",
    IndexState.BUILDING: "info",
    IndexState.INVALID: "warning",
}


KINDS = (
    ("openai", _("A server with an OpenAI-compatible API")),
    ("fastembed", _("A model that fastembed runs on this machine")),
    ("local", _("MiniLM, or an ONNX folder, on this machine")),
)


def _text(label: StrOrPromise, help_text: StrOrPromise) -> forms.CharField:
    return forms.CharField(
        label=label, help_text=help_text, required=False, widget=UnfoldAdminTextInputWidget
    )


def _number(label: StrOrPromise, help_text: StrOrPromise) -> forms.IntegerField:
    return forms.IntegerField(
        label=label,
        help_text=help_text,
        required=False,
        min_value=1,
        widget=UnfoldAdminIntegerFieldWidget,
    )


class NewSpaceForm(forms.ModelForm):  # type: ignore[type-arg]
    """The model of a new space. Validation requests a test vector from it."""

    class Meta:
        model = EmbeddingSpace
        fields = ("name",)
        widgets = {"name": UnfoldAdminTextInputWidget}

    kind = forms.ChoiceField(choices=KINDS, widget=UnfoldAdminSelectWidget)
    model = _text(
        _("Model"),
        _(
            "For a server: the provider's name of the model. For fastembed: a name of the list "
            "under Embedding spaces; its files are fetched when you save."
        ),
    )
    base_url = _text(
        _("Address"),
        _(
            "For a server: its base URL (https://models.example.org/v1), one that "
            "EMBEDDING_ADDRESSES lists. Empty: OpenAI's own."
        ),
    )
    api_key_env = _text(
        _("API key variable"),
        _(
            "For a server: the environment variable with this provider's key, set for the web "
            "server and the workers, one that EMBEDDING_KEY_VARIABLES lists. Empty: "
            "OPENAI_API_KEY for the address in the settings, no key for others."
        ),
    )
    dimensions_asked = _number(
        _("Dimensions"), _("For a server whose model supports several; empty: the model's default.")
    )
    folder = _text(
        _("Folder"), _("For a folder: a sentence-transformers ONNX model. Empty: MiniLM.")
    )
    query_folder = _text(
        _("Folder for questions"), _("Another folder whose model embeds the questions alone.")
    )
    query_prefix = _text(_("Query prefix"), _("If the model requires one."))
    document_prefix = _text(_("Passage prefix"), _("If the model requires one."))
    max_tokens_read = _number(_("Maximum tokens"), _("The longest text; empty: the model's limit."))
    knows = _text(_("Languages"), _("ISO 639-1 codes, such as “en, de”; empty: multilingual."))

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["name"].required = False
        self.fields["name"].help_text = _("Empty: the model's name.")

    @property
    def options(self) -> dict[str, Any]:
        """The model's options, without empty ones."""
        data = self.cleaned_data
        codes = [code.strip().lower() for code in data["knows"].split(",")]
        options = {
            **{name: data[name] for name in ("model", "base_url", "api_key_env", "folder")},
            **{name: data[name] for name in ("query_folder", "query_prefix", "document_prefix")},
            "dimensions": data["dimensions_asked"],
            "max_tokens": data["max_tokens_read"],
            "languages": [code for code in codes if code],
        }
        return {name: value for name, value in options.items() if value}

    def clean(self) -> dict[str, Any] | None:
        cleaned = super().clean()
        if not self.errors:
            try:
                changes.try_model(self.cleaned_data["kind"], self.options)
            except IngestionError as error:
                raise forms.ValidationError(str(error)) from error
        return cleaned

    def _post_clean(self) -> None:
        """Skip the row's validation: `spaces.changes` creates it, with fields from the model."""


@dataclass(frozen=True, slots=True)
class Action:
    """An action on a space, run after a confirmation page."""

    name: str
    label: StrOrPromise
    icon: str
    done: StrOrPromise
    perform: Callable[..., object]
    permission: str = "change"


ACTIONS = {
    action.name: action
    for action in (
        Action(
            "start", _("Fill"), "play_arrow", _("The workers fill it in the background."),
            changes.start,
        ),
        Action("pause", _("Pause"), "pause", _("Filling is paused."), changes.pause),
        Action(
            "activate", _("Activate"), "check_circle", _("It is active: the next search uses it."),
            changes.activate,
        ),
        Action(
            "drop", _("Remove"), "delete", _("The workers remove it in the background."),
            changes.drop, "delete",
        ),
    )
}  # fmt: skip


@admin.register(EmbeddingSpace)
class EmbeddingSpaceAdmin(LiveCells[EmbeddingSpace], ModelAdmin):  # type: ignore[misc]
    list_display = ("name", "state_cell", "index_cell", "dimensions", "max_tokens", "knows")
    ordering = ("pk",)
    list_fullwidth = True
    live_cells = ("state", "index")
    change_form_outer_before_template = "admin/steelyard/space_status.html"
    change_list_template = "admin/ingestion/embeddingspace/change_list.html"

    # --- columns ---------------------------------------------------------------------

    @admin.display(description=_("state"), ordering="state")
    def state_cell(self, space: EmbeddingSpace) -> SafeString:
        report = _report_of(space)
        label = report.state_words.split(",")[0]
        fault = space.paused and space.error
        variant = "danger" if fault else VARIANTS[State(space.state)]
        total, is_filling = space.chunks_total, report.is_filling
        cell = state_label(
            label,
            {"Ready to be activated": "success", "Not started": ""}.get(label, variant),
            percent=round(report.share * 100) if is_filling else None,
            bar=gettext("Filled"),
            note=_filled(space) if is_filling and total else "",
            error=space.error,
            is_brief=True,
        )
        return _live(report, "state", cell)

    @admin.display(description=_("index"))
    def index_cell(self, space: EmbeddingSpace) -> SafeString:
        report = _report_of(space)
        index = report.index
        label = state_label(
            index.state.value.capitalize(),
            INDEX_VARIANTS.get(index.state, ""),
            percent=None if index.share is None else round(index.share * 100),
            bar=gettext("Built"),
            note=index.phase,
        )
        return _live(report, "index", label)

    @admin.display(description=_("languages"))
    def knows(self, space: EmbeddingSpace) -> str:
        return _names(space.languages)

    def live_rows(self, rows: Iterable[EmbeddingSpace]) -> list[EmbeddingSpace]:
        """The spaces, each with its report."""
        spaces = list(rows)
        for report in reports_on(spaces, brief=True):
            report.space.report = report  # type: ignore[attr-defined]
        return spaces

    def get_form(self, request: HttpRequest, obj: Any = None, **kwargs: Any) -> Any:
        return NewSpaceForm if obj is None else super().get_form(request, obj, **kwargs)

    def get_fieldsets(self, request: HttpRequest, obj: Any = None) -> Any:
        if obj is not None:
            return ((None, {"fields": ("name",)}),)
        return (
            (_("Model"), {"fields": (
                "kind", "name", "model", "base_url", "api_key_env", "folder",
            )}),
            (_("Options of some models"), {"fields": (
                "dimensions_asked", "max_tokens_read", "query_folder", "query_prefix",
                "document_prefix", "knows",
            )}),
        )  # fmt: skip

    # --- pages -----------------------------------------------------------------------------

    def list_context(self, request: HttpRequest) -> dict[str, Any]:
        rows = list(EmbeddingSpace.objects.all())
        return {
            "notes": overview(rows),
            # Their shares cover all collections.
            "advice": better_models(rows) if actor(request).is_superuser else [],
            "command": COMMAND,
            "offers": [
                [(each, _names(each.languages), round(1000 * each.gigabytes)) for each in models]
                for models in (EMBEDDERS, RERANKERS)
            ],
        }

    def render_change_form(
        self, request: HttpRequest, context: dict[str, Any], *args: Any, **kwargs: Any
    ) -> HttpResponse:
        space = context.get("original")
        if space is not None:
            report = space.report = report_on(space)
            context |= {
                "report": report,
                # They cover all collections, so they would reveal hidden ones to others.
                "shows_counts": actor(request).is_superuser,
                "state_cell": self.state_cell(space),
                "index_cell": self.index_cell(space),
                "possible": [a for a in possible(report) if self._may(request, a, space)],
                "show_save_and_add_another": False,
                "show_save_and_continue": False,
            }
        return super().render_change_form(request, context, *args, **kwargs)  # type: ignore[no-any-return]

    @own_page("<int:pk>/<slug:name>/confirm/")
    def confirm_view(self, request: HttpRequest, pk: int, name: str) -> HttpResponse:
        """Show an action's effect, cost and obstacles; perform it when posted."""
        action, space = ACTIONS.get(name), self.get_object(request, str(pk))
        if action is None or space is None:
            raise Http404
        if not self._may(request, action, space):
            raise PermissionDenied
        if request.method == "POST":
            return self._perform(request, action, space)
        title = f"{action.label}: {space}"
        context = {
            "action": action,
            "report": report_on(space),
            "obstacles": changes.obstacles(space) if name == "activate" else [],
            "active": EmbeddingSpace.objects.filter(state=State.ACTIVE).first(),
        }
        return self.page(request, "ingestion/embeddingspace/confirm.html", title, context)

    def _perform(self, request: HttpRequest, action: Action, space: EmbeddingSpace) -> HttpResponse:
        def act() -> str:
            action.perform(space, acting_user=actor(request))
            return f"{space}: {action.done}"

        self.attempt(request, act)
        return redirect("admin:ingestion_embeddingspace_changelist")

    # --- actions, all by spaces.changes ---------------------------------------------

    def save_model(
        self, request: HttpRequest, obj: EmbeddingSpace, form: Any, change: bool
    ) -> None:
        if change:
            obj.save(update_fields=["name"])  # workers write the rest
            return
        data = form.cleaned_data
        saved = changes.create(
            data["kind"], form.options, name=data["name"], acting_user=actor(request)
        )
        become(obj, saved)

    def response_add(
        self, request: HttpRequest, obj: EmbeddingSpace, post_url_continue: str | None = None
    ) -> HttpResponse:
        return redirect("admin:ingestion_embeddingspace_confirm", obj.pk, "start")

    def log_addition(self, request: HttpRequest, obj: Any, message: Any) -> None:
        """Do nothing: `spaces.changes` writes the audit row."""

    def has_add_permission(self, request: HttpRequest) -> bool:
        """Superusers alone: a space sends every text of the library to its model's server."""
        return request.user.is_superuser and bool(super().has_add_permission(request))

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """False: workers remove vectors in batches, not Django's own page."""
        return False

    def _may(self, request: HttpRequest, action: Action, space: EmbeddingSpace) -> bool:
        if action.permission == "delete":
            return bool(super().has_delete_permission(request, space))
        return bool(self.has_change_permission(request, space))


def _names(languages: Iterable[str]) -> str:
    return ", ".join(map(language_name, languages)) or gettext("many")


def _report_of(space: EmbeddingSpace) -> Report:
    report: Report = space.report  # type: ignore[attr-defined]
    return report


def _filled(space: EmbeddingSpace) -> str:
    counts = {"filled": space.chunks_filled, "total": space.chunks_total}
    return gettext("%(filled)d of %(total)d") % counts


def possible(report: Report) -> list[Action]:
    """The actions that the space's state allows, the most likely first."""
    space, names = report.space, []
    if space.state in (State.BUILDING, State.PREVIOUS):
        if report.is_ready or space.state == State.PREVIOUS:
            names.append("activate")
        if space.paused or (report.missing and space.filled_at is not None):
            names.append("start")
        if not space.paused and space.filled_at is None:
            names.append("pause")
    if space.state not in (State.ACTIVE, State.DROPPING):
        names.append("drop")
    return [ACTIONS[name] for name in names]


def _live(report: Report, name: str, content: SafeString) -> SafeString:
    """A cell that is updated while the space is filled, indexed or removed."""
    return live(report.space, name, content, unfinished=not report.is_settled)
