"""The admin pages to publish a profile, to roll back, and to set its targets."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext
from unfold.widgets import UnfoldAdminDecimalFieldWidget

from common.admin.mixins import OwnPages, actor, own_page, whole_number
from search.errors import NotPermitted, ProfileError, RunConflict
from search.models import SearchProfile
from search.tuning import activation as activation
from search.tuning import diff, drafts, gate_runs, publications
from search.tuning.admin.weight_fields import beams
from search.tuning.evaluation import targets
from search.tuning.evaluation.golden_set import fingerprint
from search.tuning.models import EvaluationRun, ProfileTargets, Publication


class TargetsForm(forms.ModelForm):  # type: ignore[type-arg]
    """The targets of a profile; an empty field expects nothing."""

    class Meta:
        model = ProfileTargets
        fields = targets.NAMES
        widgets = {
            name: UnfoldAdminDecimalFieldWidget(
                attrs={"min": 0, "step": 1}
                if name == "p95_ms"
                else {"min": 0, "max": 1, "step": "any"}
            )
            for name in targets.NAMES
        }


class PublishingPages(OwnPages[SearchProfile]):
    """Confirmation pages of the profiles' ModelAdmin."""

    def has_publish_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm(gate_runs.PUBLISH)

    def may_go_back(self, request: HttpRequest, profile: SearchProfile | None) -> bool:
        if profile is None or profile.state != SearchProfile.State.RETIRED:
            return False
        return request.user.has_perm(activation.ROLL_BACK) and activation.was_active(profile)

    @own_page("<int:pk>/publish/")
    def publish_view(self, request: HttpRequest, pk: int) -> HttpResponse:
        """Show what publishing would change, or measure and publish."""
        profile = self.seen(request, pk, gate_runs.PUBLISH)
        if request.method == "POST":
            reason, expected = request.POST.get("reason", ""), request.POST.get("fingerprint", "")
            override = "override" in request.POST
            publication = self.publish(
                request, profile, reason, expected=expected, override=override
            )
            if publication is None:
                return redirect("admin:search_searchprofile_publish", profile.pk)
            return gate_page(publication) or redirect("admin:search_searchprofile_changelist")
        context = {
            "profile": profile,
            "beams": beams(list(profile.class_weights.all())),
            "from_active": differences_from_active(profile),
            "active": SearchProfile.active(),
            "fingerprint": fingerprint(profile.as_profile()),
            "gate": gate_runs.preview(),
            "reason": drafts.last_reason(profile),
            **targets_context(profile),
        }
        return self.page(
            request,
            "search/searchprofile/publish.html",
            gettext("Publish %(profile)s") % {"profile": profile},
            context,
        )

    @own_page("<int:pk>/rollback/")
    def rollback_view(self, request: HttpRequest, pk: int) -> HttpResponse:
        """Show what a rollback would change, or roll back."""
        profile, active = self.seen(request, pk, activation.ROLL_BACK), SearchProfile.active()
        if request.method == "POST":
            self._roll_back(request, profile)
            return redirect("admin:search_searchprofile_changelist")
        context = {
            "profile": profile,
            "active": active,
            "possible": activation.was_active(profile) and profile.state == profile.State.RETIRED,
            "beams": beams(list(profile.class_weights.all())),
            "differences": ranking_differences(active, profile) if active else [],
        }
        return self.page(
            request,
            "search/searchprofile/rollback.html",
            gettext("Roll back to %(profile)s") % {"profile": profile},
            context,
        )

    @own_page("<int:pk>/targets/")
    def targets_view(self, request: HttpRequest, pk: int) -> HttpResponse:
        """Show the form of the profile's targets, or save them; published versions included."""
        profile = self.seen(request, pk)
        if not self.has_change_permission(request):
            raise PermissionDenied
        row = targets.of_profile(profile)
        form = TargetsForm(request.POST or None, instance=row)
        reason = request.POST.get("reason", "").strip()
        if request.method == "POST" and form.is_valid():
            values = {name: form.cleaned_data[name] for name in targets.NAMES}
            drafts.set_targets(profile, values, acting_user=actor(request), reason=reason)
            self.message_user(request, gettext("The targets were saved."), messages.SUCCESS)
            return self.back_to(profile.pk)
        title = gettext("Targets of %(profile)s") % {"profile": profile}
        context = {"profile": profile, "form": form, "reason": reason, **targets_context(profile)}
        return self.page(request, "search/searchprofile/targets.html", title, context)

    def publish(
        self, request: HttpRequest, profile: SearchProfile, reason: str, **how: Any
    ) -> Publication | None:
        """Publish with a message about the outcome; return None if it could not be attempted.

        `how` are options of `publications.publish`.
        """
        try:
            publication = publications.publish(
                profile, acting_user=actor(request), reason=reason, **how
            )
        except (ProfileError, RunConflict, NotPermitted) as error:
            self.message_user(request, str(error), messages.WARNING)
            return None
        if publication.state == Publication.State.PUBLISHED:
            active = gettext("%(profile)s is active from the next search.") % {"profile": profile}
            text = " ".join([active, *publication.findings])
            self.message_user(request, text, messages.SUCCESS)
        elif publication.state != Publication.State.MEASURING:
            self.message_user(
                request,
                gettext("%(profile)s was not published.") % {"profile": profile},
                messages.ERROR,
            )
        return publication

    def _roll_back(self, request: HttpRequest, profile: SearchProfile) -> None:
        leaving = SearchProfile.objects.filter(pk=whole_number(request.POST.get("leaving"))).first()
        reason = request.POST.get("reason", "")

        def act() -> str:
            activation.roll_back(
                profile, acting_user=actor(request), reason=reason, leaving=leaving
            )
            text = gettext("%(profile)s is active again from the next search.")
            return text % {"profile": profile}

        self.attempt(request, act)


def targets_context(profile: SearchProfile, run: EvaluationRun | None = None) -> dict[str, object]:
    """The profile's targets against `run`, or against its own last run; empty without targets."""
    row = targets.of_profile(profile)
    if row._state.adding:
        return {}
    run = run or targets.last_run(profile)
    return {"targets": targets.outcomes(row, run), "targets_run": run}


def gate_page(publication: Publication | None) -> HttpResponse | None:
    """A redirect to the publication's page; None if the profile was published."""
    if publication is None or publication.state == Publication.State.PUBLISHED:
        return None
    return redirect("admin:tuning_publication_change", publication.pk)


def ranking_differences(before: SearchProfile, after: SearchProfile) -> list[str]:
    """The differences that affect searches: all but the description."""
    return ranking_lines(diff.differences(before, after))


def ranking_lines(lines: list[str]) -> list[str]:
    """The lines without that of the description."""
    return [line for line in lines if line != diff.DESCRIPTION_CHANGED]


def differences_from_active(profile: SearchProfile) -> list[str]:
    """The differences from the active profile; empty for the active profile itself."""
    active = SearchProfile.active()
    if active is None or active.pk == profile.pk:
        return []
    return ranking_differences(active, SearchProfile.objects.get(pk=profile.pk))
