"""The signal: 1 for an empty passage, a half for one of BREVITY_CHARACTERS."""

from collections.abc import Mapping
from typing import Any

from django.conf import settings

from search.domain import Signal
from search.signals.registry import Inputs, SignalPart, SignalSQL

_SCORE = "%(brevity)s::float8 / (%(brevity)s::float8 + length(c.text))"


class BrevitySignal(SignalPart):
    signal = Signal("brevity")
    label = "Brevity"
    advice = "Prefers short passages."
    unavailable = "Brevity is unavailable."

    def sql(self, inputs: Inputs) -> SignalSQL:
        return SignalSQL(score=_SCORE)

    def params(self, inputs: Inputs) -> Mapping[str, Any]:
        return {"brevity": float(settings.BREVITY_CHARACTERS)}

    def measure(self, scorer: str) -> Any:
        return "shortness"
