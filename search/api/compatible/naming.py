"""The names of models: a mode, and perhaps one collection.

`steelyard`, `steelyard:instant`, `steelyard:thinking`, `steelyard/handbook`,
`steelyard/handbook:instant`. The last form works, but lists do not name it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from rest_framework.request import Request
from rest_framework.response import Response

from ingestion.models import Collection
from ingestion.models.library import Viewer
from search.answers.domain import Mode
from search.api.compatible.base import CompatibleView, NoSuchModel

NAME = "steelyard"
OWNER = "steelyard"
# Of the models that are no collection: clients only sort by it.
CREATED = 1_767_225_600  # 2026-01-01
LISTED_MODES = (Mode.INSTANT, Mode.THINKING)

_FORM = re.compile(
    rf"{NAME}(?:/(?P<slug>[-\w]{{1,120}}))?(?::(?P<mode>{'|'.join(mode.value for mode in Mode)}))?"
)


@dataclass(frozen=True, slots=True)
class Chosen:
    """What a model's name chooses. `collection` is a slug; empty: all that is readable."""

    name: str
    mode: Mode
    collection: str = ""
    created: int = CREATED


def choose(name: Any, viewer: Viewer) -> Chosen:
    """The model of that name. Raises NoSuchModel, also for a collection that is hidden."""
    found = _FORM.fullmatch(name) if isinstance(name, str) else None
    if found is None:
        raise NoSuchModel(str(name)[:200])
    mode = Mode(found["mode"]) if found["mode"] else Mode.AUTO
    if not found["slug"]:
        return Chosen(name, mode)
    held = Collection.objects.visible_to(viewer).filter(slug=found["slug"]).first()
    if held is None:
        raise NoSuchModel(name)
    return Chosen(name, mode, held.slug, int(held.created.timestamp()))


def listed(viewer: Viewer) -> Iterator[Chosen]:
    """The models that `viewer` may use; one query."""
    yield Chosen(NAME, Mode.AUTO)
    for mode in LISTED_MODES:
        yield Chosen(f"{NAME}:{mode.value}", mode)
    readable = Collection.objects.visible_to(viewer).order_by("name", "pk")
    for slug, created in readable.values_list("slug", "created"):
        yield Chosen(f"{NAME}/{slug}", Mode.AUTO, slug, int(created.timestamp()))


class ModelsView(CompatibleView):
    """The models: modes of answering, and one a readable collection."""

    def get(self, request: Request) -> Response:
        return Response({"object": "list", "data": [_data(each) for each in listed(request.user)]})


class ModelView(CompatibleView):
    """One model."""

    def get(self, request: Request, model_name: str) -> Response:
        return Response(_data(choose(model_name, request.user)))


def _data(chosen: Chosen) -> dict[str, Any]:
    return {
        "id": chosen.name,
        "object": "model",
        "created": chosen.created,
        "owned_by": OWNER,
    }
