"""The models of this site: the modes of answering, and one for each readable collection."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from rest_framework.request import Request
from rest_framework.response import Response

from ingestion.models import Collection
from ingestion.models.visibility import Viewer
from search.answers.domain import Mode
from search.api.openai.protocol import CompatibleView, NoSuchModel

NAME = "steelyard"
OWNER = "steelyard"
# The date of models that are no collection: clients only sort by it.
CREATED = 1_767_225_600  # 2026-01-01
LISTED_MODES = (Mode.INSTANT, Mode.THINKING)

_FORM = re.compile(
    rf"{NAME}(?:/(?P<slug>[-\w]{{1,120}}))?(?::(?P<mode>{'|'.join(mode.value for mode in Mode)}))?"
)


@dataclass(frozen=True, slots=True)
class ModelChoice:
    """The choices in a model's name. `collection` is a slug; empty: everything readable."""

    name: str
    mode: Mode
    collection: str = ""
    created: int = CREATED


def choose(name: Any, viewer: Viewer) -> ModelChoice:
    """The model of that name. Raises NoSuchModel, also for a collection that is hidden."""
    match = _FORM.fullmatch(name) if isinstance(name, str) else None
    if match is None:
        raise NoSuchModel(str(name)[:200])
    mode = Mode(match["mode"]) if match["mode"] else Mode.AUTO
    if not match["slug"]:
        return ModelChoice(name, mode)
    readable = Collection.objects.visible_to(viewer).filter(slug=match["slug"]).first()
    if readable is None:
        raise NoSuchModel(name)
    return ModelChoice(name, mode, readable.slug, int(readable.created.timestamp()))


def listed(viewer: Viewer) -> Iterator[ModelChoice]:
    """The models that `viewer` may use; one query."""
    yield ModelChoice(NAME, Mode.AUTO)
    for mode in LISTED_MODES:
        yield ModelChoice(f"{NAME}:{mode.value}", mode)
    readable = Collection.objects.visible_to(viewer).order_by("name", "pk")
    for slug, created in readable.values_list("slug", "created"):
        yield ModelChoice(f"{NAME}/{slug}", Mode.AUTO, slug, int(created.timestamp()))


class ModelsView(CompatibleView):
    """The models: modes of answering, and one a readable collection."""

    def get(self, request: Request) -> Response:
        return Response(
            {"object": "list", "data": [_model_data(each) for each in listed(request.user)]}
        )


class ModelView(CompatibleView):
    """One model."""

    def get(self, request: Request, model_name: str) -> Response:
        return Response(_model_data(choose(model_name, request.user)))


def _model_data(chosen: ModelChoice) -> dict[str, Any]:
    return {"id": chosen.name, "object": "model", "created": chosen.created, "owned_by": OWNER}
