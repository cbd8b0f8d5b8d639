"""The weights of a profile as form fields: one per signal and class; each class sums to 1.

Most profiles have one set of weights, that of general questions. `BY_CLASS` gives each class its
own.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal

from django import forms
from django.forms.boundfield import BoundField
from django.utils.translation import gettext
from unfold.widgets import UnfoldAdminDecimalFieldWidget, UnfoldBooleanSwitchWidget

from search.domain import OPTIONAL, QueryClass, Signal, Weights
from search.models import QUERY_CLASSES, ClassWeights
from search.signals import registry

Shares = Mapping[Signal, Decimal]
BY_CLASS = "by_class"
_CLASSES = [(QueryClass(value), label) for value, label in QUERY_CLASSES]


def field_name(query_class: QueryClass, signal: Signal) -> str:
    return f"weight-{query_class.value}-{signal.value}"


def weight_fields(initial: Mapping[QueryClass, Shares]) -> dict[str, forms.Field]:
    """The number fields of all classes and signals, and the switch between classes and one set."""
    switch = forms.BooleanField(
        label=gettext("Different weights by kind of question"),
        required=False,
        initial=any(shares != initial.get(QueryClass.GENERAL) for shares in initial.values()),
        widget=UnfoldBooleanSwitchWidget,
    )
    return {BY_CLASS: switch} | {
        field_name(query_class, signal): forms.DecimalField(
            label=gettext("%(signal)s, %(query_class)s")
            % {"signal": registry.label(signal), "query_class": label},
            required=signal not in OPTIONAL,
            min_value=0,
            max_value=1,
            decimal_places=4,
            max_digits=5,
            initial=_plain(initial.get(query_class, {}).get(signal)),
            widget=UnfoldAdminDecimalFieldWidget(
                attrs={"step": "0.01", "class": "sy-figure", "data-signal": signal.value}
            ),
        )
        for query_class, label in _CLASSES
        for signal in Signal
    }


def shares_of(rows: Sequence[ClassWeights]) -> dict[QueryClass, Shares]:
    """The weights of a profile's rows by class."""
    return {
        QueryClass(row.query_class): {signal: getattr(row, signal.value) for signal in Signal}
        for row in rows
    }


def check_sums(form: forms.BaseForm) -> dict[QueryClass, Weights]:
    """The cleaned weights by class. Adds an error for each class that does not sum to 1.

    Without `BY_CLASS` all classes have the general weights, whatever their own fields hold.
    """
    weights: dict[QueryClass, Weights] = {}
    for query_class, label in _CLASSES:
        names = [field_name(query_class, signal) for signal in Signal]
        if query_class is not QueryClass.GENERAL and not form.cleaned_data.get(BY_CLASS):
            for name in names:
                form.errors.pop(name, None)
            continue
        if any(name in form.errors for name in names):
            continue  # the field has an error of its own
        shares = [form.cleaned_data.get(name) or Decimal(0) for name in names]
        total = sum(shares, Decimal(0))
        by_name = {signal.value: share for signal, share in zip(Signal, shares, strict=True)}
        if problem := registry.problem_with(by_name):
            form.add_error(names[0], problem)
        elif total != 1:
            away = f"{abs(1 - total):f}".rstrip("0")
            too_much, missing = gettext("%(amount)s too much"), gettext("%(amount)s is missing")
            what = (too_much if total > 1 else missing) % {"amount": away}
            form.add_error(
                names[0],
                gettext(
                    "%(query_class)s: the weights must sum to 1. These sum to %(total)s: %(what)s."
                )
                % {
                    "query_class": label.split(":")[0],
                    "total": f"{total.normalize():f}",
                    "what": what,
                },
            )
        else:
            weights[query_class] = Weights(**{name: float(each) for name, each in by_name.items()})
    if not form.cleaned_data.get(BY_CLASS) and (general := weights.get(QueryClass.GENERAL)):
        return dict.fromkeys(QueryClass, general)
    return weights


@dataclass(frozen=True, slots=True)
class SignalRow:
    """One weight of a class for display. `percent` is its part of the beam."""

    signal: str
    label: str
    field: BoundField
    percent: float


@dataclass(frozen=True, slots=True)
class ClassRow:
    """The weights of one class for display."""

    query_class: str
    name: str
    description: str
    signals: tuple[SignalRow, ...]

    @property
    def leans(self) -> bool:
        """Whether the class's short questions lean to meaning: all but lookups do."""
        return self.query_class != QueryClass.LOOKUP

    @property
    def has_more(self) -> bool:
        """Whether another signal than meaning, keywords and title has a weight."""
        return any(row.percent for row in self.signals[3:])

    @property
    def errors(self) -> list[str]:
        return [str(error) for row in self.signals for error in row.field.errors]


def class_rows(form: forms.BaseForm) -> Iterator[ClassRow]:
    """The weights in the form, one row per class."""
    for query_class, label in _CLASSES:
        name, _, description = label.partition(": ")
        fields = {signal: form[field_name(query_class, signal)] for signal in Signal}
        yield ClassRow(
            query_class.value,
            name,
            description,
            tuple(
                SignalRow(signal.value, registry.label(signal), field, _percent(field))
                for signal, field in fields.items()
            ),
        )


@dataclass(frozen=True, slots=True)
class Beam:
    """The shares of a class as one bar."""

    name: str
    parts: tuple[tuple[str, str, float], ...]

    @property
    def title(self) -> str:
        return f"{self.name}: " + ", ".join(f"{label} {part:g}%" for _, label, part in self.parts)


def beams(rows: Sequence[ClassWeights]) -> list[Beam]:
    """The bars of a profile's classes; one if their weights are equal."""
    shares = shares_of(rows)
    classes = [(each, label.partition(": ")[0]) for each, label in _CLASSES if each in shares]
    if classes and all(each == shares[classes[0][0]] for each in shares.values()):
        classes = [(classes[0][0], gettext("All questions"))]
    return [
        Beam(
            name,
            tuple(
                (signal.value, registry.label(signal), float(shares[query_class][signal] * 100))
                for signal in Signal
                if signal not in OPTIONAL or shares[query_class][signal]
            ),
        )
        for query_class, name in classes
    ]


def _plain(share: Decimal | None) -> str | None:
    """A weight without trailing zeros: 0.6, not 0.6000."""
    return None if share is None else f"{share.normalize():f}"


def _percent(field: BoundField) -> float:
    try:
        return max(0.0, min(float(field.value()) * 100, 100.0))
    except (TypeError, ValueError):
        return 0.0
