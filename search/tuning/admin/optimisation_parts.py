"""The form of a weight optimisation, and its result for the page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _
from unfold.widgets import (
    UnfoldAdminCheckboxSelectMultipleWidget,
    UnfoldAdminIntegerFieldWidget,
    UnfoldAdminSelectWidget,
    UnfoldBooleanWidget,
)

from search.domain import QueryClass, Signal
from search.models import SearchProfile
from search.models.rules import NORMALISERS
from search.presentation.labels import CLASS_LABELS, measure_label
from search.signals import registry
from search.tuning.models import GoldenQuery, Optimisation
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
        choices=[(each.signal.value, each.label) for each in registry.by_weight()],
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
        label=_("Normalisation and lean"),
        required=False,
        initial=True,
        widget=UnfoldBooleanWidget,
        help_text=_(
            "Also tries other normalisations of the signals, and other leans of short questions."
        ),
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


@dataclass(frozen=True, slots=True)
class GainSpan:
    """The 95% interval of a gain, with its mean."""

    mean: float
    low: float
    high: float

    @property
    def tone(self) -> str:
        """`better` or `worse` if the interval excludes 0, else `open`."""
        if self.low > 0:
            return "better"
        return "worse" if self.high < 0 else "open"


@dataclass(frozen=True, slots=True)
class Share:
    """One signal's weight before and after, in percent."""

    signal: str
    label: str
    before: float
    after: float

    @property
    def change(self) -> float:
        return self.after - self.before


@dataclass(frozen=True, slots=True)
class ClassResult:
    label: str
    queries: int
    shares: tuple[Share, ...]
    span: GainSpan | None

    @property
    def is_changed(self) -> bool:
        return any(share.change for share in self.shares)


@dataclass(frozen=True, slots=True)
class PresetRow:
    pk: int
    name: str
    mean: float
    span: GainSpan


@dataclass(frozen=True, slots=True)
class OptimisationResult:
    """A finished optimisation. `span` is the overall gain; None for a comparison of presets."""

    found: Mapping[str, Any]
    span: GainSpan | None = None
    classes: tuple[ClassResult, ...] = ()
    presets: tuple[PresetRow, ...] = ()
    normalisers: tuple[tuple[str, str], ...] = ()
    origins: tuple[tuple[str, int], ...] = ()

    @property
    def signals(self) -> list[tuple[str, str]]:
        """The signals with a column in the table."""
        return [(share.signal, share.label) for row in self.classes[:1] for share in row.shares]


def result(row: Optimisation) -> OptimisationResult | None:
    """The result of an optimisation; None if there is none."""
    values = row.found
    if row.state != Optimisation.State.DONE or not values:
        return None
    labels = dict(GoldenQuery.Origin.choices)
    origins = tuple((str(labels.get(name, name)), of) for name, of in values["origins"].items())
    if "presets" in values:
        presets = tuple(
            PresetRow(
                each["profile"],
                f"{each['name']} v{each['version']}",
                each["mean"],
                _span(each["gain"]),
            )
            for each in values["presets"]
        )
        return OptimisationResult(values, presets=presets, origins=origins)
    return OptimisationResult(
        values,
        span=_span(values["gain"]),
        classes=_classes(values["classes"]),
        normalisers=_scales(values["normalisers"]),
        origins=origins,
    )


def _classes(classes: Sequence[Mapping[str, Any]]) -> tuple[ClassResult, ...]:
    used = [
        signal
        for signal in Signal
        if any(each[side][signal] for each in classes for side in ("before", "after"))
    ]
    return tuple(
        ClassResult(
            CLASS_LABELS[QueryClass(each["class"])],
            each["queries"],
            tuple(
                Share(
                    signal.value,
                    registry.label(signal),
                    round(100 * each["before"][signal], 1),
                    round(100 * each["after"][signal], 1),
                )
                for signal in used
            ),
            _span(each["gain"]) if each["gain"] else None,
        )
        for each in classes
    )


def _scales(changed: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    labels = {str(value): str(label) for value, label in NORMALISERS}
    return tuple(
        (registry.label(Signal(signal)), labels.get(name, name)) for signal, name in changed.items()
    )


def _span(gain: Mapping[str, float]) -> GainSpan:
    return GainSpan(gain["mean"], gain["low"], gain["high"])
