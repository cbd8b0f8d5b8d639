"""The form of a weight optimisation."""

from __future__ import annotations

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _
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


class OptimisationForm(forms.Form):
    """The options of an optimisation."""

    profile = forms.ModelChoiceField(
        SearchProfile.objects.none(),
        widget=UnfoldAdminSelectWidget,
        help_text=_("The optimisation starts from its weights; its other settings stay."),
    )
    measure = forms.ChoiceField(
        choices=[(name, measure_label(name)) for name in MEASURES],
        initial=MEASURES[0],
        widget=UnfoldAdminSelectWidget,
        help_text=_("Metric to maximise: its mean over the golden queries."),
    )
    classes = forms.MultipleChoiceField(
        label=_("Query classes"),
        required=False,
        choices=[(each.value, label) for each, label in CLASS_LABELS.items()],
        widget=UnfoldAdminCheckboxSelectMultipleWidget,
        help_text=_("Default: all with enough golden queries. The others keep their weights."),
    )
    signals = forms.MultipleChoiceField(
        required=False,
        choices=[(each.value, label) for each, label in SIGNAL_LABELS.items()],
        widget=UnfoldAdminCheckboxSelectMultipleWidget,
        help_text=_(
            "Signals to optimise. Default: meaning, keywords, title, and those with a "
            "weight in the profile."
        ),
    )
    origins = forms.MultipleChoiceField(
        label=_("Origin of judgements"),
        required=False,
        choices=GoldenQuery.Origin.choices,
        widget=UnfoldAdminCheckboxSelectMultipleWidget,
        help_text=_(
            "Default: judged by people and imported; synthetic ones only if there are no others."
        ),
    )
    normalisers = forms.BooleanField(
        label=_("Normalisation"),
        required=False,
        initial=True,
        widget=UnfoldBooleanWidget,
        help_text=_("Also tries other normalisations of the signals."),
    )
    folds = forms.IntegerField(
        min_value=2,
        max_value=MAX_FOLDS,
        initial=FOLDS,
        widget=UnfoldAdminIntegerFieldWidget,
        help_text=_(
            "Number of parts in cross-validation: each part is measured under weights "
            "that were optimised on the others."
        ),
    )
    seed = forms.IntegerField(
        min_value=0,
        max_value=2**31 - 1,
        initial=1,
        widget=UnfoldAdminIntegerFieldWidget,
        help_text=_("Seed of the split into folds. The same seed gives the same result."),
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        rows = SearchProfile.objects.order_by("state", "name", "-version")
        self.fields["profile"].queryset = rows  # type: ignore[attr-defined]

    @property
    def options(self) -> Options:
        """The chosen options. Raises OptimisationError."""
        given = {name: each for name, each in self.cleaned_data.items() if name != "profile"}
        return Options.from_json(given)
