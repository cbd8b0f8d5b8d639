"""The differences between two profiles, one line each, as the audit lists them."""

from __future__ import annotations

from decimal import Decimal

from search.domain import COLUMNS, Signal
from search.models import SearchProfile
from search.signals import registry

# The settings of a profile besides its weights, as copied to drafts and compared.
FIELDS = ("description", *COLUMNS)
# Both descriptions in full would obscure the other differences.
DESCRIPTION_CHANGED = "description: rewritten"
SIGNALS = tuple(signal.value for signal in Signal)


def differences(before: SearchProfile, after: SearchProfile) -> list[str]:
    """The differences between two profiles, one line each; one for a change of all classes."""
    lines = [
        f"{name.replace('_', ' ')}: {_display(before, name)} → {_display(after, name)}"
        for name in FIELDS
        if name != "description" and getattr(before, name) != getattr(after, name)
    ]
    if before.description != after.description:
        lines.append(DESCRIPTION_CHANGED)
    old = {row.query_class: row for row in before.class_weights.all()}
    rows = list(after.class_weights.all())
    changed: dict[str, list[str]] = {}
    for row in rows:
        was = old.get(row.query_class)
        for signal in SIGNALS:
            if was is None or getattr(was, signal) != getattr(row, signal):
                earlier = "none" if was is None else _percent(getattr(was, signal))
                name = str(registry.label(Signal(signal))).lower()
                change = f"{name}: {earlier} → {_percent(getattr(row, signal))}"
                changed.setdefault(change, []).append(row.query_class)
    for change, classes in changed.items():
        lines += [change] if len(classes) == len(rows) else [f"{c}, {change}" for c in classes]
    return lines


def _display(profile: SearchProfile, name: str) -> object:
    """A field's value for people: the label of a choice."""
    label = getattr(profile, f"get_{name}_display", None)
    return label() if label else getattr(profile, name)


def _percent(share: Decimal) -> str:
    return f"{(share * 100).normalize():f}%"
