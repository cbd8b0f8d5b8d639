"""The form of a search profile: settings, weights, and the reason of a change."""

from __future__ import annotations

from functools import partial
from typing import Any, cast

from django import forms
from django.http import QueryDict
from django.utils import timezone
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from unfold.widgets import UnfoldAdminDecimalFieldWidget, UnfoldAdminTextareaWidget

from search.domain import QueryClass, Weights
from search.errors import ProfileError
from search.models import SearchProfile
from search.tuning.admin.weights import check_sums, shares_of, weight_fields
from search.tuning.evaluation.targets import NAMES as TARGETS
from search.tuning.models import ProfileChange, ProfileTargets
from search.tuning.publishing import activation
from search.tuning.publishing.drafts import edit_stamp

COSTS = {
    "vector_normaliser": _(
        "How cosine similarities become strengths. Unscaled, they are "
        "comparable between questions; the other methods depend on the "
        "question's candidates."
    ),
    "keyword_normaliser": _(
        "How keyword scores become strengths. BM25 has no upper bound: "
        "unscaled, it dominates the other signals."
    ),
    "title_normaliser": _(
        "How title scores become strengths. Coverage is between 0 and 1 already."
    ),
    "keyword_scorer": _(
        "BM25 weights rare words higher and is the fastest. The others are for comparison."
    ),
    "keyword_budget": _(
        "The maximum number of chunks scored by keywords; most questions need "
        "far fewer. More is slower on large libraries; fewer can miss passages "
        "for questions of common words only."
    ),
    "both_factor": _(
        "For rank fusion: the factor for passages found by both meaning and "
        "keywords. Above about 1.2, a mediocre passage with a common word "
        "outranks the best match of either."
    ),
    "bypass": _(
        "A regular expression. Matching questions are answered by keywords alone, "
        "without the embedding model: suitable for bare codes, not for words."
    ),
    "short_lean": _(
        "The share of the keywords' weight that moves to meaning for questions of one or two "
        "known words. Raising it finds answers in other words, and loses exact ones."
    ),
    "wordnet_cap": _(
        "The most that WordNet may weigh if its weight depends on the question: more for one word "
        "or no known concept, less for more than three words. 0: the weight is fixed."
    ),
    "vector_candidates_only": _(
        "Only meaning finds passages; the other signals score them. Passages that only keywords "
        "or titles find are lost."
    ),
    "feedback": _(
        "The weight of similarity to the first results (relevance feedback), "
        "relative to the best score. Raising it brings related passages together, "
        "and drifts away from the question if the first results are wrong."
    ),
    "rerank": _(
        "The reranker's share of the scores of the first 20 results, where a reranker is set up. "
        "Raising it lets the model decide more of their order, and each search waits for it."
    ),
    "recency_half_life": _(
        "Days after which a document counts half as recent. Applies only if recency has a weight."
    ),
    "title_scorer": _(
        "The score of a matching title. “10” outweighs every other signal unless scaled."
    ),
}
FIELDS_OF_ALL = ("name", *activation.FIELDS)


class ProfileForm(forms.ModelForm):  # type: ignore[type-arg]
    reason = forms.CharField(
        label=_("Reason"),
        required=False,
        widget=UnfoldAdminTextareaWidget(attrs={"rows": 2}),
        help_text=_("Optional. Stored with the change in the audit."),
    )
    stamp = forms.CharField(required=False, widget=forms.HiddenInput)

    weights: dict[QueryClass, Weights]

    class Meta:
        model = SearchProfile
        fields = FIELDS_OF_ALL
        help_texts = COSTS
        widgets = {"description": UnfoldAdminTextareaWidget(attrs={"rows": 2})}

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        source = self.instance if self.instance.pk else template_profile()
        rows = source.class_weights.all() if source else []
        self.fields.update(weight_fields(shares_of(list(rows))))
        if self.instance.pk:
            self.fields["stamp"].initial = partial(edit_stamp, self.instance)

    @property
    def settings(self) -> dict[str, object]:
        """The cleaned values of the profile's settings, without its weights."""
        return {name: self.cleaned_data[name] for name in activation.FIELDS}

    def clean_name(self) -> str:
        name = str(self.cleaned_data["name"])
        try:
            SearchProfile.check_new_name(name)
        except ProfileError as error:
            raise forms.ValidationError(str(error)) from error
        return name

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        self.weights = check_sums(self)
        if self.instance.pk:
            self._check_untouched(str(cleaned.get("stamp", "")))
        return cleaned

    def _check_untouched(self, opened: str) -> None:
        """Add an error if somebody else has edited or published the draft meanwhile.

        The admin's view is one transaction: the lock is held until this edit is saved.
        """
        row = SearchProfile.objects.select_for_update().get(pk=self.instance.pk)
        stamp = edit_stamp(row)
        was_draft = opened.startswith(SearchProfile.State.DRAFT)
        if stamp == opened or not (was_draft or row.is_draft):
            return
        posted = cast("QueryDict", self.data).copy()
        posted["stamp"] = stamp  # saving again overrides the conflict
        self.data = posted
        self.add_error(None, self._conflict(row, opened))

    def _conflict(self, row: SearchProfile, opened: str) -> str:
        seen = opened.partition("-")[2]
        number = int(seen) if seen.isdecimal() else 0
        since = ProfileChange.objects.filter(profile=row, pk__gt=number)
        edits = "; ".join(
            gettext("%(user)s at %(time)s")
            % {
                "user": change.user or gettext("someone"),
                "time": f"{timezone.localtime(change.at):%H:%M}",
            }
            + (f" ({', '.join(change.differences[:3])})" if change.differences else "")
            for change in since.select_related("user").order_by("pk")
        )
        if row.is_draft:
            message = gettext(
                "%(profile)s was saved after you opened it: %(edits)s. Your values are still in "
                "the form; saving again overwrites the other version. To see that version "
                "first, reload the profile."
            ) % {"profile": row, "edits": edits or gettext("by someone")}
        else:
            message = gettext(
                "%(profile)s was published after you opened it: %(edits)s. Your values are "
                "still in the form; saving again creates a new draft. To see the published "
                "version first, reload the profile."
            ) % {"profile": row, "edits": edits or gettext("by someone")}
        return message


class TargetsForm(forms.ModelForm):  # type: ignore[type-arg]
    """The targets of a profile; an empty field expects nothing."""

    class Meta:
        model = ProfileTargets
        fields = TARGETS
        widgets = {
            name: UnfoldAdminDecimalFieldWidget(
                attrs={"min": 0, "step": 1}
                if name == "p95_ms"
                else {"min": 0, "max": 1, "step": "any"}
            )
            for name in TARGETS
        }


def template_profile() -> SearchProfile | None:
    """The profile that a new one is copied from: the active profile."""
    return SearchProfile.objects.filter(state=SearchProfile.State.ACTIVE).first()
