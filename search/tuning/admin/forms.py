"""The form of a search profile: settings, weights, the reason of a change; and the workbench's."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any, cast

from django import forms
from django.forms.boundfield import BoundField
from django.http import QueryDict
from django.utils.functional import Promise
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from unfold.widgets import UnfoldAdminTextareaWidget

from search.domain import About, Profile, QueryClass, Weights, columns_about
from search.errors import ProfileError
from search.models import SearchProfile
from search.tuning import diff, drafts
from search.tuning.admin.weight_fields import check_sums, shares_of, weight_fields

GROUPS = {
    _("Score fusion"): About.COMBINING,
    _("Boosts and confidence"): About.LIFTING,
    _("Retrieval"): About.LOOKING,
    _("Query analysis"): About.READING,
}
LEAN = "short_lean"  # shown with the weights, which it changes
# Controls shown as sliders: name -> minimum, maximum, step.
RANGES = {
    "short_lean": (0, 1, 0.05),
    "wordnet_cap": (0, 1, 0.05),
    "feedback": (0, 2, 0.05),
    "rerank": (0, 1, 0.05),
    "confidence_threshold": (0, 1, 0.01),
    "depth": (5, 500, 5),
}


class ProfileForm(forms.ModelForm):  # type: ignore[type-arg]
    """The form of a profile: a new name is free, and a change may have a reason."""

    reason = forms.CharField(
        label=_("Reason"),
        required=False,
        widget=UnfoldAdminTextareaWidget(attrs={"rows": 2}),
        help_text=_("Optional. Stored with the change in the audit."),
    )
    stamp = forms.CharField(required=False, widget=forms.HiddenInput)
    use_required_attribute = False  # a browser refuses a form whose required field is out of sight

    weights: dict[QueryClass, Weights]

    class Meta:
        model = SearchProfile
        fields = ("name", *diff.FIELDS)
        widgets = {"description": UnfoldAdminTextareaWidget(attrs={"rows": 2})}

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        source = self.instance if self.instance.pk else SearchProfile.active()
        rows = source.class_weights.all() if source else []
        self.fields.update(weight_fields(shares_of(list(rows))))
        if self.instance.pk:
            self.fields["stamp"].initial = partial(drafts.edit_stamp, self.instance)

    def clean_name(self) -> str:
        name = str(self.cleaned_data["name"])
        try:
            drafts.check_new_name(name)
        except ProfileError as error:
            raise forms.ValidationError(str(error)) from error
        return name

    @property
    def values(self) -> tuple[dict[str, Any], dict[QueryClass, Weights]]:
        """The profile's cleaned settings and weights, as `drafts` takes them."""
        names = [name for name in diff.FIELDS if name not in self.declared_fields]
        return {name: self.cleaned_data[name] for name in names}, self.weights

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
        stamp = drafts.edit_stamp(row)
        was_draft = opened.startswith(SearchProfile.State.DRAFT)
        if stamp == opened or not (was_draft or row.is_draft):
            return
        posted = cast("QueryDict", self.data).copy()
        posted["stamp"] = stamp  # saving again overrides the conflict
        self.data = posted
        if row.is_draft:
            text = gettext(
                "%(profile)s was saved after you opened it. Your values are still in the form; "
                "saving again overwrites the other version. To see that version first, reload the "
                "profile."
            )
        else:
            text = gettext(
                "%(profile)s was published after you opened it. Your values are still in the form; "
                "saving again creates a new draft. To see the published version first, reload the "
                "profile."
            )
        self.add_error(None, text % {"profile": row})


@dataclass(frozen=True, slots=True)
class Control:
    """One setting for display; `range` has minimum, maximum and step of a slider."""

    field: BoundField
    cost: str
    range: tuple[float, float, float] | None

    @property
    def is_check(self) -> bool:
        return self.field.widget_type == "checkbox"


class WorkbenchForm(ProfileForm):
    """The settings and weights of a draft, saved or not."""

    def __init__(self, *args: Any, is_saving: bool = False, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._is_saving = is_saving
        del self.fields["name"]
        self.fields["boosts"].widget.attrs["rows"] = 3

    def groups(self) -> list[tuple[Promise, list[Control]]]:
        """The controls besides the weights and their lean, by topic."""
        return [
            (title, [self._control(name) for name in columns_about(about) if name != LEAN])
            for title, about in GROUPS.items()
        ]

    def lean(self) -> Control:
        """The control of the weights' other end, for short questions."""
        return self._control(LEAN)

    def _control(self, name: str) -> Control:
        field = self[name]
        return Control(field, str(field.help_text), RANGES.get(name))

    def trial(self) -> Profile:
        """The profile that saving would create. Requires a valid form."""
        profile: Profile = self.instance.as_profile()
        return replace(profile, weights={**profile.weights, **self.weights})

    def problems(self) -> dict[str, list[str]]:
        """The error messages by field."""
        return {name: [str(text) for text in texts] for name, texts in self.errors.items()}

    def _get_validation_exclusions(self) -> set[str]:
        """The fields to skip: before saving, those that are unchanged.

        The model's constraints take three queries each, and sliders move often.
        """
        excluded: set[str] = super()._get_validation_exclusions()  # type: ignore[misc]
        if self._is_saving:
            return excluded
        cleaned, saved = self.cleaned_data, self.instance
        return excluded | {
            name
            for name in diff.FIELDS
            if name in cleaned and cleaned[name] == getattr(saved, name)
        }

    def validate_unique(self) -> None:
        """Validate uniqueness only when saving: each check takes a query."""
        if self._is_saving:
            super().validate_unique()

    def _check_untouched(self, opened: str) -> None:
        if self._is_saving:
            super()._check_untouched(opened)
