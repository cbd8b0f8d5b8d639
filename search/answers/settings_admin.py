"""The answer settings in the admin: edited, tried beside the saved ones, with their history."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import admin
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from unfold.admin import ModelAdmin
from unfold.widgets import UnfoldAdminTextareaWidget

from common.admin.mixins import OneRow, OwnPages, actor, own_page
from search.answers import answering
from search.answers.domain import AnswerParameters, Mode
from search.answers.models import AnswerSettings
from search.answers.models.settings import MODES
from search.answers.prompts import VARIABLES
from search.answers.request import AnswerRequest
from search.errors import SearchError


class AnswerSettingsForm(forms.ModelForm):  # type: ignore[type-arg]
    class Meta:
        model = AnswerSettings
        fields = tuple(AnswerParameters.__dataclass_fields__)
        widgets = {
            "refusal": UnfoldAdminTextareaWidget(attrs={"rows": 2}),
            "system_prompt": UnfoldAdminTextareaWidget(
                attrs={"class": "sy-code", "rows": 18, "spellcheck": "false"}
            ),
        }

    def clean_system_prompt(self) -> str:
        """The prompt as it is stored: browsers end lines in another way."""
        return str(self.cleaned_data["system_prompt"]).replace("\r\n", "\n")


@admin.register(AnswerSettings)
class AnswerSettingsAdmin(OneRow, OwnPages[AnswerSettings], ModelAdmin):  # type: ignore[misc]
    empty_text = _("There are no answer settings: answers use the shipped ones.")
    form = AnswerSettingsForm
    fieldsets = (
        (None, {"fields": ("default_mode",)}),
        (_("The model"), {"fields": ("model", "temperature", "max_tokens", "system_prompt")}),
        (
            _("The context"),
            {
                "fields": (
                    "candidates", "context_tokens", "min_passages", "max_passages", "expand",
                    "quotes",
                )
            },
        ),
        (
            _("Confidence"),
            {
                "fields": ("refuse_below", "refusal", "escalate_below", "max_searches")
            },
        ),
        (_("Time"), {"fields": ("first_token_seconds", "token_seconds", "total_seconds")}),
    )  # fmt: skip

    def render_change_form(
        self, request: HttpRequest, context: dict[str, Any], *args: Any, **kwargs: Any
    ) -> HttpResponse:
        context |= {"variables": [f"${name}" for name in VARIABLES], "modes": MODES}
        return super().render_change_form(request, context, *args, **kwargs)  # type: ignore[no-any-return]

    @own_page("try/")
    def try_view(self, request: HttpRequest) -> HttpResponse:
        """Show the answers of the posted settings and of the saved ones to the same question;
        nothing is saved.

        The model's calls count towards the user's budget, as for every answer.
        """
        form = self.tried_form(request)
        question = request.POST.get("question", "").strip()
        context: dict[str, Any] = {"question": question}
        if not form.is_valid():
            context["errors"] = form.errors
        elif question:
            posted, saved = form.save(commit=False).as_parameters(), answering.active_parameters()
            pairs = {gettext("As in the form"): posted, gettext("As saved"): saved}
            context["tried"] = [_tried(request, question, *pair) for pair in pairs.items()]
        return TemplateResponse(request, "admin/answers/answersettings/tried.html", context)


def _tried(
    request: HttpRequest, question: str, label: str, parameters: AnswerParameters
) -> dict[str, Any]:
    """The answer to the question of a trial with these parameters, or the problem with it."""
    mode = request.POST.get("mode", "")
    answer_request = AnswerRequest(
        question,
        viewer=actor(request),
        mode=Mode(mode) if mode in set(Mode) else None,
        parameters=parameters,
        channel="admin",
        is_recorded=False,
    )
    try:
        return {"label": label, "answer": answering.answer(answer_request)}
    except SearchError as error:
        return {"label": label, "problem": str(error)}
