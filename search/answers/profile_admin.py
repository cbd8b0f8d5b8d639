"""Answer profiles in the admin: edited, tried beside another, published, rolled back to."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from unfold.admin import ModelAdmin
from unfold.widgets import UnfoldAdminTextareaWidget

from common.admin.mixins import OwnPages, ReadOnly, actor, own_page, whole_number
from common.admin.versions import STATE_LABELS, VersionForm, VersionPages
from search.answers import answering, profiles
from search.answers.domain import Mode
from search.answers.models import AnswerProfile, AnswerProfileChange
from search.answers.models.profiles import MODES
from search.answers.prompts import VARIABLES
from search.answers.request import AnswerRequest
from search.errors import SearchError


class AnswerProfileForm(VersionForm):
    class Meta:
        model = AnswerProfile
        fields = ("name", *profiles.FIELDS)
        widgets = {
            "description": UnfoldAdminTextareaWidget(attrs={"rows": 2}),
            "refusal": UnfoldAdminTextareaWidget(attrs={"rows": 2}),
            "system_prompt": UnfoldAdminTextareaWidget(
                attrs={"class": "sy-code", "rows": 18, "spellcheck": "false"}
            ),
        }


def _tried(label: str, request: AnswerRequest) -> dict[str, Any]:
    """One profile's answer to the question of a trial, or the problem with it."""
    try:
        return {"label": label, "answer": answering.answer(request)}
    except SearchError as error:
        return {"label": label, "problem": str(error)}


@admin.register(AnswerProfile)
class AnswerProfileAdmin(VersionPages, OwnPages[AnswerProfile], ModelAdmin):  # type: ignore[misc]
    services, settings = profiles, profiles.FIELDS
    audit = "admin:answers_answerprofilechange_changelist"
    use = _("answers")
    never_deleted = _("published answer profiles (they are never deleted)")
    empty_text = _("There are no answer profiles: answers use the shipped settings.")
    form = AnswerProfileForm
    list_display = ("profile", "state_label", "default_mode", "model", "context", "published")
    list_filter = ("state", "name")
    search_fields = ("name", "description")
    fieldsets = (
        (None, {"fields": ("name", "description", "default_mode")}),
        (
            _("The model"),
            {"fields": ("model", "temperature", "max_tokens", "system_prompt")},
        ),
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
        (None, {"fields": ("reason",)}),
    )  # fmt: skip

    # --- display ---------------------------------------------------------------------------

    @admin.display(description=_("context"), ordering="context_tokens")
    def context(self, profile: AnswerProfile) -> str:
        return gettext("%(passages)d passages, %(tokens)d tokens") % {
            "passages": profile.max_passages,
            "tokens": profile.context_tokens,
        }

    def render_change_form(
        self, request: HttpRequest, context: dict[str, Any], *args: Any, **kwargs: Any
    ) -> HttpResponse:
        profile: AnswerProfile | None = context.get("original")
        active = AnswerProfile.active()
        is_other = profile and active and active.pk != profile.pk
        others = AnswerProfile.objects.exclude(pk=profile.pk if profile and profile.pk else 0)
        context |= {
            "profile": profile,
            "state_variant": STATE_LABELS[profile.state] if profile else "",
            "from_active": profiles.differences(active, profile) if is_other else [],  # type: ignore[arg-type]
            "changes": profile.changes.select_related("user")[:5] if profile else [],
            "variables": [f"${name}" for name in VARIABLES],
            "others": others.order_by("name", "-version"),
            "modes": MODES,
            "may_publish": request.user.has_perm(profiles.PUBLISH),
            "may_go_back": request.user.has_perm(profiles.ROLL_BACK),
        }
        return super().render_change_form(request, context, *args, **kwargs)  # type: ignore[no-any-return]

    # --- pages -----------------------------------------------------------------------------

    @own_page("try/")
    def try_view(self, request: HttpRequest) -> HttpResponse:
        """Show the answers of the posted profile and of another one to the same question; nothing
        is saved.

        The model's calls count towards the user's budget, as for every answer.
        """
        form = self.tried_form(request)
        question = request.POST.get("question", "").strip()
        context: dict[str, Any] = {"question": question}
        if not form.is_valid():
            context["errors"] = form.errors
        elif question:
            profile = form.save(commit=False)
            mode = request.POST.get("mode", "")
            chosen = Mode(mode) if mode in set(Mode) else None
            other = AnswerProfile.objects.filter(pk=whole_number(request.POST.get("with"))).first()
            pairs = [(gettext("As in the form"), profile)]
            if other is not None:
                pairs.append((str(other), other))
            context["tried"] = [
                _tried(
                    label,
                    AnswerRequest(
                        question,
                        viewer=actor(request),
                        mode=chosen,
                        parameters=each.as_parameters(),
                        channel="admin",
                        is_recorded=False,
                    ),
                )
                for label, each in pairs
            ]
        return TemplateResponse(request, "admin/answers/answerprofile/tried.html", context)

    @own_page("<int:pk>/activate/")
    def activate_view(self, request: HttpRequest, pk: int) -> HttpResponse:
        """Show what publishing or rolling back would change, or do it."""
        profile = self.seen(request, pk)
        is_back = not profile.is_draft
        permission = profiles.ROLL_BACK if is_back else profiles.PUBLISH
        if not request.user.has_perm(permission):
            raise PermissionDenied
        if request.method == "POST":
            reason = request.POST.get("reason", "").strip()

            def act() -> str:
                profiles.activate(profile, acting_user=actor(request), reason=reason)
                return gettext("%(profile)s is active from the next answer.") % {"profile": profile}

            self.attempt(request, act)
            return redirect("admin:answers_answerprofile_changelist")
        active = AnswerProfile.active()
        title = gettext("Roll back to %(profile)s") if is_back else gettext("Publish %(profile)s")
        context = {
            "profile": profile,
            "active": active,
            "is_back": is_back,
            "possible": profile.state != profile.State.ACTIVE,
            "differences": profiles.differences(active, profile) if active else [],
        }
        template = "answers/answerprofile/activate.html"
        return self.page(request, template, title % {"profile": profile}, context)


@admin.register(AnswerProfileChange)
class AnswerProfileChangeAdmin(ReadOnly, ModelAdmin):  # type: ignore[misc]
    empty_text = _("No answer profile has been changed.")
    list_display = ("at", "profile", "action", "user", "reason", "changed")
    list_filter = ("action", "profile__name")
    list_select_related = ("profile", "user")
    search_fields = ("profile__name", "reason", "user__username")

    @admin.display(description=_("changes"))
    def changed(self, change: AnswerProfileChange) -> str:
        return "; ".join(change.changes)
