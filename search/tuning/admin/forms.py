"""The form of a search profile: its settings, its weights, and why they change."""

from __future__ import annotations

from functools import partial
from typing import Any, cast

from django import forms
from django.http import QueryDict
from django.utils import timezone
from unfold.widgets import UnfoldAdminTextareaWidget

from search.domain import QueryClass, Weights
from search.errors import ProfileError
from search.models import SearchProfile
from search.tuning.admin.weights import check_sums, shares_of, weight_fields
from search.tuning.models import ProfileChange
from search.tuning.publishing import activation, drafts
from search.tuning.publishing.drafts import edit_stamp

COSTS = {
    "vector_normaliser": "How cosine similarities become strengths. As they are, they keep their "
    "meaning from one question to the next; the others look only at this question's candidates.",
    "keyword_normaliser": "How keyword scores become strengths. BM25 has no upper end: leave it "
    "unscaled and it drowns the other signals.",
    "title_normaliser": "How title scores become strengths. Coverage lies between 0 and 1 already.",
    "keyword_scorer": "BM25 knows rare words from common ones and is the fastest. The others are "
    "for comparison.",
    "keyword_budget": "At most so many chunks are scored by keywords; most questions need far "
    "fewer. More is slower on large libraries; less can miss passages for questions of common "
    "words alone.",
    "both_factor": "For rank fusion: what meaning and keywords both found counts so many times. "
    "Above 1.2 or so, a mediocre passage with a common word passes the best match of either.",
    "bypass": "A regular expression. Questions that it matches are answered by keywords alone, "
    "without asking the embedding model: right for bare codes, wrong for words.",
    "feedback": "How much it counts that a passage is like the first results: 0.5 is half as much "
    "as the best score. Raising it gathers what belongs together, and drifts away from the "
    "question where the first results are wrong.",
    "recency_half_life": "Days after which a document counts half as recent. Matters only where "
    "recency has a weight.",
    "title_scorer": "What a fitting title is worth. “10” outweighs every other signal unless it is "
    "scaled.",
}
FIELDS_OF_ALL = ("name", *activation.FIELDS)


class ProfileForm(forms.ModelForm):  # type: ignore[type-arg]
    reason = forms.CharField(
        label="Why",
        required=False,
        widget=UnfoldAdminTextareaWidget(attrs={"rows": 2}),
        help_text="Optional. Kept with the change, for whoever asks later.",
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
        """The cleaned values of what a profile is made of besides its weights."""
        return {name: self.cleaned_data[name] for name in activation.FIELDS}

    def clean_name(self) -> str:
        name = str(self.cleaned_data["name"])
        try:
            drafts.check_new_name(name)
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
        """Adds an error when somebody else has edited or published the draft meanwhile.

        The admin's view is one transaction: the lock holds until this edit is written.
        """
        held = SearchProfile.objects.select_for_update().get(pk=self.instance.pk)
        stamp = edit_stamp(held)
        was_draft = opened.startswith(SearchProfile.State.DRAFT)
        if stamp == opened or not (was_draft or held.is_draft):
            return
        posted = cast("QueryDict", self.data).copy()
        posted["stamp"] = stamp  # whoever saves again has been told
        self.data = posted
        self.add_error(None, self._conflict(held, opened))

    def _conflict(self, held: SearchProfile, opened: str) -> str:
        seen = opened.partition("-")[2]
        known = int(seen) if seen.isdecimal() else 0
        since = ProfileChange.objects.filter(profile=held, pk__gt=known)
        said = "; ".join(
            f"{change.user or 'someone'} at {timezone.localtime(change.at):%H:%M}"
            + (f" ({', '.join(change.differences[:3])})" if change.differences else "")
            for change in since.select_related("user").order_by("pk")
        )
        happened = "was saved" if held.is_draft else "was published"
        again = "puts them in its place" if held.is_draft else "makes a new draft of them"
        return (
            f"{held} {happened} after you opened it: {said or 'by someone'}. Nothing of yours is "
            f"lost: your figures are still below, and saving again {again}. To see the other "
            "version first, open the profile anew."
        )


def template_profile() -> SearchProfile | None:
    """What a new profile starts from: the active one."""
    return SearchProfile.objects.filter(state=SearchProfile.State.ACTIVE).first()
