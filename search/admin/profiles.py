"""W1: search profiles in the admin: linked weights, drafts, one button to publish."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.db.models import Case, QuerySet, When
from django.forms import Script
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.loader import render_to_string
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django.utils import timezone
from django.utils.http import urlencode
from django.utils.safestring import SafeString
from unfold.admin import ModelAdmin
from unfold.decorators import display

from search.admin.forms import ProfileForm, template_profile
from search.admin.weights import SIGNAL_HELP, beams, class_rows
from search.errors import NotPermitted, ProfileError, RunConflict
from search.evaluation.golden import fingerprint
from search.models import Publication, SearchProfile
from search.templatetags.weighing import SIGNAL_LABELS
from search.tuning import activation, editing, publishing, rollback

if TYPE_CHECKING:
    from django.contrib.auth.models import User

STATE_LABELS = {
    SearchProfile.State.DRAFT: "warning",
    SearchProfile.State.ACTIVE: "success",
    SearchProfile.State.RETIRED: "",
}


@admin.register(SearchProfile)
class SearchProfileAdmin(ModelAdmin):  # type: ignore[misc]
    form = ProfileForm
    list_display = ("profile", "state_label", "weights", "depth", "published_at")
    list_filter = ("state", "name")
    search_fields = ("name", "description")
    actions = ("publish_selected",)
    fieldsets = (
        (None, {"fields": ("name", "description")}),
        ("How questions are read", {"fields": ("classifier", "bypass")}),
        (
            "How scores are combined",
            {
                "fields": (
                    "fusion", "vector_normaliser", "keyword_normaliser", "title_normaliser",
                    "rrf_k", "both_factor", "both_first", "own_candidates_only", "boosts",
                    "feedback", "recency_half_life", "confidence_threshold",
                )
            },
        ),
        (
            "What is looked at",
            {"fields": ("depth", "keyword_scorer", "keyword_budget", "title_scorer")},
        ),
    )  # fmt: skip

    class Media:
        js = (Script("admin/steelyard/weights.js", defer=True),)

    # --- what is shown ---------------------------------------------------------------------

    def get_queryset(self, request: HttpRequest) -> QuerySet[SearchProfile]:
        queryset: QuerySet[SearchProfile] = super().get_queryset(request)
        return queryset.prefetch_related("class_weights")

    def get_ordering(self, request: HttpRequest) -> tuple[Any, ...]:
        """The active profile first, then the drafts: the seeds' fill pages."""
        places = (SearchProfile.State.ACTIVE, SearchProfile.State.DRAFT)
        cases = (When(state=state, then=place) for place, state in enumerate(places))
        return (Case(*cases, default=len(places)), "name", "-version")

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> tuple[str, ...]:
        return ("name",) if obj else ()

    def get_changeform_initial_data(self, request: HttpRequest) -> dict[str, Any]:
        source = template_profile()
        held = {name: getattr(source, name) for name in activation.FIELDS} if source else {}
        return {**held, "description": "", **super().get_changeform_initial_data(request)}

    @admin.display(description="profile", ordering="name")
    def profile(self, profile: SearchProfile) -> str:
        return str(profile)

    @display(description="state", ordering="state", label=STATE_LABELS)
    def state_label(self, profile: SearchProfile) -> tuple[str, str]:
        return profile.state, profile.get_state_display()

    @admin.display(description="published", ordering="published")
    def published_at(self, profile: SearchProfile) -> str:
        return (
            f"{timezone.localtime(profile.published):%Y-%m-%d %H:%M}" if profile.published else "-"
        )

    @admin.display(description="weights by class of question")
    def weights(self, profile: SearchProfile) -> SafeString:
        context = {"beams": beams(list(profile.class_weights.all()))}
        return SafeString(render_to_string("admin/steelyard/beams.html", context))

    # --- pages -----------------------------------------------------------------------------

    def get_urls(self) -> list[URLPattern]:
        publish = self.admin_site.admin_view(self.publish_view)
        back = self.admin_site.admin_view(self.rollback_view)
        return [
            path("<int:pk>/publish/", publish, name="search_searchprofile_publish"),
            path("<int:pk>/rollback/", back, name="search_searchprofile_rollback"),
            *super().get_urls(),
        ]

    def render_change_form(
        self, request: HttpRequest, context: dict[str, Any], *args: Any, **kwargs: Any
    ) -> HttpResponse:
        profile = context.get("original")
        form = context["adminform"].form
        context |= {
            "profile": profile,
            "class_rows": list(class_rows(form)),
            "signals": [
                (signal.value, label, SIGNAL_HELP[signal])
                for signal, label in SIGNAL_LABELS.items()
            ],
            "state_variant": STATE_LABELS[profile.state] if profile else "",
            "from_active": differences_from_active(profile) if profile else [],
            "may_publish": self.has_publish_permission(request),
            "may_go_back": self._may_go_back(request, profile),
        }
        return super().render_change_form(request, context, *args, **kwargs)  # type: ignore[no-any-return]

    def history_view(
        self, request: HttpRequest, object_id: str, extra_context: Any = None
    ) -> HttpResponse:
        """The profile's audit, over all versions of its name."""
        profile = self.get_object(request, object_id)
        if profile is None:
            raise Http404
        query = urlencode({"profile__name": profile.name})
        return redirect(f"{reverse('admin:search_profilechange_changelist')}?{query}")

    def has_publish_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm(publishing.PUBLISH)

    def _may_go_back(self, request: HttpRequest, profile: SearchProfile | None) -> bool:
        if profile is None or profile.state != SearchProfile.State.RETIRED:
            return False
        return request.user.has_perm(rollback.ROLL_BACK) and rollback.was_active(profile)

    def changelist_view(self, request: HttpRequest, extra_context: Any = None) -> HttpResponse:
        may = request.user.has_perm(rollback.ROLL_BACK)
        previous = rollback.previous() if may else None
        context = {"previous": previous, "active": template_profile() if previous else None}
        return super().changelist_view(request, {**context, **(extra_context or {})})  # type: ignore[no-any-return]

    def publish_view(self, request: HttpRequest, pk: int) -> HttpResponse:
        """Asks for a reason, showing what will change; then measures and publishes."""
        profile = self._seen(request, pk)
        if not self.has_publish_permission(request):
            raise PermissionDenied
        if request.method == "POST":
            reason, seen = request.POST.get("reason", ""), request.POST.get("fingerprint", "")
            publication = self._publish(request, profile, reason, expected=seen)
            if publication is None:
                return redirect("admin:search_searchprofile_publish", profile.pk)
            return self._after(publication)
        context = {
            **self.admin_site.each_context(request),
            "opts": self.opts,
            "title": f"Publish {profile}",
            "profile": profile,
            "beams": beams(list(profile.class_weights.all())),
            "from_active": differences_from_active(profile),
            "active": template_profile(),
            "fingerprint": fingerprint(profile.as_profile()),
            "gate": publishing.preview(),
        }
        return TemplateResponse(request, "admin/search/searchprofile/publish.html", context)

    def rollback_view(self, request: HttpRequest, pk: int) -> HttpResponse:
        """Asks whether to go back to a profile that was active before; then does."""
        profile, active = self._seen(request, pk), template_profile()
        if not request.user.has_perm(rollback.ROLL_BACK):
            raise PermissionDenied
        if request.method == "POST":
            self._roll_back(request, profile)
            return redirect("admin:search_searchprofile_changelist")
        lines = activation.differences(active, profile) if active else []
        context = {
            **self.admin_site.each_context(request),
            "opts": self.opts,
            "title": f"Roll back to {profile}",
            "profile": profile,
            "active": active,
            "possible": rollback.was_active(profile) and profile.state == profile.State.RETIRED,
            "beams": beams(list(profile.class_weights.all())),
            "differences": [line for line in lines if line != activation.DESCRIPTION_CHANGED],
        }
        return TemplateResponse(request, "admin/search/searchprofile/rollback.html", context)

    def _seen(self, request: HttpRequest, pk: int) -> SearchProfile:
        profile = self.get_object(request, str(pk))
        if profile is None or not self.has_view_permission(request, profile):
            raise Http404
        return profile  # type: ignore[no-any-return]

    @admin.action(description="Publish…", permissions=["publish"])
    def publish_selected(
        self, request: HttpRequest, queryset: QuerySet[SearchProfile]
    ) -> HttpResponse | None:
        profiles = list(queryset[:2])
        if len(profiles) != 1:
            self.message_user(
                request, "One profile is active at a time: tick just one.", messages.WARNING
            )
            return None
        return redirect("admin:search_searchprofile_publish", profiles[0].pk)

    # --- what is done: all of it by tuning ------------------------------------------------------

    def save_model(
        self, request: HttpRequest, obj: SearchProfile, form: ProfileForm, change: bool
    ) -> None:
        """Saves the draft, or a new draft of a published profile: `obj` becomes that draft."""
        user: User = request.user  # type: ignore[assignment]
        reason = form.cleaned_data["reason"].strip()
        if change:
            done = editing.edit(obj, form.settings, form.weights, acting_user=user, reason=reason)
            saved = done.profile
            self._tell_edit(request, obj, done)
        else:
            saved = editing.create(
                obj.name, form.settings, form.weights, acting_user=user, reason=reason
            )
        obj.pk = saved.pk
        obj._state.adding = False
        obj.refresh_from_db()
        if "_publish" in request.POST:
            self._attempt(request, self._publish(request, obj, reason))

    def _tell_edit(self, request: HttpRequest, before: SearchProfile, done: editing.Edit) -> None:
        if done.is_new_draft:
            text = (
                f"{before} is published and never changes: your edit is the new draft "
                f"{done.profile}. Searches use it once it is published."
            )
        elif done.changes:
            count = len(done.changes)
            changes = "1 change" if count == 1 else f"{count} changes"
            text = f"Draft {done.profile} is saved, with {changes}."
        elif "_publish" in request.POST:
            return
        else:
            text = "Nothing was changed, so nothing was saved."
        self.message_user(request, text, messages.SUCCESS if done.changes else messages.INFO)

    def _publish(
        self, request: HttpRequest, profile: SearchProfile, reason: str, *, expected: str = ""
    ) -> Publication | None:
        """What came of publishing, told in a message; None where it could not be tried."""
        user: User = request.user  # type: ignore[assignment]
        try:
            done = publishing.publish(profile, acting_user=user, reason=reason, expected=expected)
        except (ProfileError, RunConflict, NotPermitted) as error:
            self.message_user(request, str(error), messages.WARNING)
            return None
        if done.state == Publication.State.PUBLISHED:
            text = f"{profile} is active: the next search uses it. {' '.join(done.findings)}"
            self.message_user(request, text, messages.SUCCESS)
        elif done.state != Publication.State.MEASURING:
            self.message_user(request, f"{profile} was not published.", messages.ERROR)
        return done

    def _attempt(self, request: HttpRequest, publication: Publication | None) -> None:
        request._publication = publication  # type: ignore[attr-defined]

    def _after(self, publication: Publication) -> HttpResponse:
        """Where a person goes next: on, or to what the gate found."""
        if publication.state == Publication.State.PUBLISHED:
            return redirect("admin:search_searchprofile_changelist")
        return redirect("admin:search_publication_change", publication.pk)

    def _roll_back(self, request: HttpRequest, profile: SearchProfile) -> None:
        user: User = request.user  # type: ignore[assignment]
        leaving = SearchProfile.objects.filter(pk=_number(request.POST.get("leaving"))).first()
        try:
            rollback.roll_back(
                profile,
                acting_user=user,
                reason=request.POST.get("reason", ""),
                leaving=leaving,
            )
        except (ProfileError, RunConflict) as error:
            self.message_user(request, str(error), messages.WARNING)
        else:
            self.message_user(
                request, f"{profile} is active again: the next search uses it.", messages.SUCCESS
            )

    def response_add(
        self, request: HttpRequest, obj: Any, post_url_continue: str | None = None
    ) -> HttpResponse:
        if "_publish" not in request.POST:
            self.message_user(request, f"Draft {obj} is saved.", messages.SUCCESS)
        return self.response_change(request, obj)

    def response_change(self, request: HttpRequest, obj: SearchProfile) -> HttpResponse:
        publication: Publication | None = getattr(request, "_publication", None)
        if publication is not None and publication.state != Publication.State.PUBLISHED:
            return redirect("admin:search_publication_change", publication.pk)
        return redirect("admin:search_searchprofile_change", obj.pk)

    def log_addition(self, request: HttpRequest, obj: Any, message: Any) -> None:
        """Nothing: ProfileChange is the audit."""

    log_change = log_addition

    # --- deletion: drafts only ----------------------------------------------------------------

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        allowed: bool = super().has_delete_permission(request, obj)
        return allowed and (not isinstance(obj, SearchProfile) or obj.is_draft)

    def get_deleted_objects(self, objs: Iterable[SearchProfile], request: HttpRequest) -> Any:
        profiles = list(objs)
        lacking = set() if self.has_delete_permission(request) else {"search profile"}
        if any(not profile.is_draft for profile in profiles):
            lacking.add("published search profiles (they are kept for good)")
        return [str(profile) for profile in profiles], {"drafts": len(profiles)}, lacking, []

    def delete_model(self, request: HttpRequest, obj: SearchProfile) -> None:
        self.delete_queryset(request, SearchProfile.objects.filter(pk=obj.pk))

    @transaction.atomic
    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[SearchProfile]) -> None:
        # One may have been published while the confirmation was on the screen.
        pks = [profile.pk for profile in queryset]
        locked = SearchProfile.objects.select_for_update().filter(pk__in=pks)
        drafts = [profile.pk for profile in locked if profile.is_draft]
        SearchProfile.objects.filter(pk__in=drafts).delete()


def differences_from_active(profile: SearchProfile) -> list[str]:
    """What publishing the profile would change for searches; nothing for the active one."""
    active = template_profile()
    if active is None or active.pk == profile.pk:
        return []
    lines = activation.differences(active, SearchProfile.objects.get(pk=profile.pk))
    return [line for line in lines if line != activation.DESCRIPTION_CHANGED]


def _number(text: str | None) -> int:
    return int(text) if text and text.isdecimal() else 0
