"""The recency signal, in (0, 1]: 1 for now, halved by each half-life. Generates no candidates.

Exponential decay as in Li & Croft, Time-based language models, CIKM 2003.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.utils.translation import gettext_lazy as _

from search.domain import Signal
from search.signals.registry import Inputs, SignalPart, SignalSQL

_SCORE = """
(SELECT power(0.5, greatest(extract(epoch FROM now() - v.created), 0)
                   / 86400 / %(recency_half_life)s)::float8
 FROM ingestion_documentversion v WHERE v.id = c.version_id)
"""


class RecencySignal(SignalPart):
    """The age of a document's version."""

    signal = Signal.RECENCY
    label = _("Recency")
    advice = _(
        "Prefers recent documents, by the profile's half-life. Raising it ranks "
        "new passages above better ones; 10% at most is advisable."
    )
    unavailable = _("Recency is unavailable; showing matches without it.")

    def sql(self, inputs: Inputs) -> SignalSQL:
        return SignalSQL(score=_SCORE)

    def params(self, inputs: Inputs) -> Mapping[str, Any]:
        return {"recency_half_life": float(inputs.profile.recency_half_life)}

    def measure(self, scorer: str) -> Any:
        return _("half-life")
