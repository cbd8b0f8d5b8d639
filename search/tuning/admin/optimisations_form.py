"""W1: the form of "Find better weights": what to look for."""

from __future__ import annotations

from typing import Any

from django import forms
from unfold.widgets import (
    UnfoldAdminCheckboxSelectMultipleWidget,
    UnfoldAdminIntegerFieldWidget,
    UnfoldAdminSelectWidget,
    UnfoldBooleanWidget,
)

from search.models import SearchProfile
from search.templatetags.weighing import CLASS_LABELS, SIGNAL_LABELS
from search.templatetags.workbench import measure_label
from search.tuning.models import GoldenQuery
from search.tuning.optimiser.optimisations import MAX_FOLDS, MEASURES, Options
from search.tuning.optimiser.weight_search import FOLDS


class FindForm(forms.Form):
    """What to look for. What is left as it is asks for the usual."""

    profile = forms.ModelChoiceField(
        SearchProfile.objects.none(),
        widget=UnfoldAdminSelectWidget,
        help_text="The search begins with its weights; its other settings stay.",
    )
    measure = forms.ChoiceField(
        choices=[(name, measure_label(name)) for name in MEASURES],
        initial=MEASURES[0],
        widget=UnfoldAdminSelectWidget,
        help_text="What is to rise, on the mean of the golden queries.",
    )
    classes = forms.MultipleChoiceField(
        label="Classes of questions",
        required=False,
        choices=[(each.value, label) for each, label in CLASS_LABELS.items()],
        widget=UnfoldAdminCheckboxSelectMultipleWidget,
        help_text="None ticked: all that have questions enough. The others keep their weights.",
    )
    signals = forms.MultipleChoiceField(
        required=False,
        choices=[(each.value, label) for each, label in SIGNAL_LABELS.items()],
        widget=UnfoldAdminCheckboxSelectMultipleWidget,
        help_text="Which may have a share. None ticked: meaning, keywords, title, and what the "
        "profile gives one.",
    )
    origins = forms.MultipleChoiceField(
        label="Whose judgements",
        required=False,
        choices=GoldenQuery.Origin.choices,
        widget=UnfoldAdminCheckboxSelectMultipleWidget,
        help_text="None ticked: people's and imported ones; synthetic ones only where there are "
        "no others.",
    )
    normalisers = forms.BooleanField(
        label="Scales as well",
        required=False,
        initial=True,
        widget=UnfoldBooleanWidget,
        help_text="Tries other ways of bringing the signals on one scale, too.",
    )
    folds = forms.IntegerField(
        min_value=2,
        max_value=MAX_FOLDS,
        initial=FOLDS,
        widget=UnfoldAdminIntegerFieldWidget,
        help_text="The questions are dealt into so many parts; each is measured under weights "
        "that the others chose.",
    )
    seed = forms.IntegerField(
        min_value=0,
        max_value=2**31 - 1,
        initial=1,
        widget=UnfoldAdminIntegerFieldWidget,
        help_text="Deals the questions. The same one comes to the same result.",
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        rows = SearchProfile.objects.order_by("state", "name", "-version")
        self.fields["profile"].queryset = rows  # type: ignore[attr-defined]

    @property
    def options(self) -> Options:
        """What was asked for. Raises OptimisationError."""
        given = {name: each for name, each in self.cleaned_data.items() if name != "profile"}
        return Options.from_json(given)
