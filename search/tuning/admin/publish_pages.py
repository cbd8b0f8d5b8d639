"""The admin pages to publish a profile, and to roll back."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext

from common.admin.mixins import OwnPages, actor, own_page, whole_number
from search.errors import NotPermitted, ProfileError, RunConflict
from search.models import SearchProfile
from search.tuning import activation as activation
from search.tuning import diff, drafts, gate_runs, publications
from search.tuning.admin.weight_fields import beams
from search.tuning.evaluation.golden_set import fingerprint
from search.tuning.models import Publication


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
            if publication.state == Publication.State.PUBLISHED:
                return redirect("admin:search_searchprofile_changelist")
            return redirect("admin:tuning_publication_change", publication.pk)
        context = {
            "profile": profile,
            "beams": beams(list(profile.class_weights.all())),
            "from_active": differences_from_active(profile),
            "active": SearchProfile.active(),
            "fingerprint": fingerprint(profile.as_profile()),
            "gate": gate_runs.preview(),
            "reason": drafts.last_reason(profile),
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
