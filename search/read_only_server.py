"""The read-only server of one collection: its folder, and the refusal of changes (READ_ONLY=1)."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core import serializers
from django.core.exceptions import MiddlewareNotUsed
from django.db import transaction
from django.db.models import Max
from django.http import Http404, HttpRequest, HttpResponseBase
from django.template.loader import render_to_string
from django.utils.translation import gettext as _

from common.api.errors import Problem
from ingestion.exporting.writing import export, exported_documents
from ingestion.models import Collection, EmbeddingSpace
from search.models import ClassWeights, ScopeProfile, SearchProfile
from search.models.scopes import names_in_force
from search.tuning.activation import activate
from search.tuning.models import ProfileChange

# The program: everything that runs, and nothing of its development or of this site.
CODE = ("common", "ingestion", "kbsite", "search")
FOLDERS = ("locale", "static", "templates")
FILES = ("manage.py", "pyproject.toml", "requirements.txt", "LICENSE")
ARCHIVE, PROFILE = "collection.zip", "profile.json"
# What belongs to a site's history rather than to the ranking.
_HISTORY = ("version", "state", "based_on", "created", "published", "profile")

# The folder's texts: their templates in templates/exported_server, and where they go.
TEXTS = {
    "README.md": "README.md",
    "compose.yaml": "compose.yaml",
    "Dockerfile": "Dockerfile",
    "dockerignore": ".dockerignore",
    "serve.sh": "serve.sh",
    "environment": "app/.env",
}


def write_folder(collection: Collection, folder: Path) -> None:
    """Write the server's folder, which must not exist. Raises IngestionError and OSError."""
    draft = folder.with_name(f"{folder.name}.part")
    shutil.rmtree(draft, ignore_errors=True)
    try:
        _write_code(draft / "app")
        (draft / "data").mkdir()
        with (draft / "data" / ARCHIVE).open("wb") as file:
            for piece in export(collection, exported_documents(collection).open_to(None)):
                file.write(piece)
        profile = write_profile(collection, draft / "data" / PROFILE)
        _write_texts(collection, draft, profile)
        draft.rename(folder)
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def _write_code(app: Path) -> None:
    app.mkdir(parents=True)
    unwanted = shutil.ignore_patterns("__pycache__", "*.pyc", ".*", "resources")
    for name in CODE:
        shutil.copytree(settings.BASE_DIR / name, app / name, ignore=unwanted)
    for name in FOLDERS:
        shutil.copytree(settings.RESOURCES_DIR / name, app / name, ignore=unwanted)
    for name in FILES:
        shutil.copy(settings.RESOURCES_DIR / name, app / name)


def _write_texts(collection: Collection, draft: Path, profile: str) -> None:
    context = {
        "name": collection.name,
        "profile": profile,
        "embedder": settings.EMBEDDER,
        "is_openai": settings.EMBEDDER.startswith("openai"),
        "space": EmbeddingSpace.objects.filter(state=EmbeddingSpace.State.ACTIVE).first(),
    }
    for template, name in TEXTS.items():
        (draft / name).write_text(render_to_string(f"exported_server/{template}", context))
    (draft / "serve.sh").chmod(0o755)


def write_profile(collection: Collection, path: Path) -> str:
    """Write the profile of searches in the collection; return its name."""
    profile = _profile_of(collection)
    weights = profile.class_weights.order_by("query_class")
    data = {"profile": _fields(profile), "weights": [_fields(row) for row in weights]}
    path.write_text(json.dumps(data, indent=1))
    return str(profile)


@transaction.atomic
def restore_profile(path: Path) -> SearchProfile:
    """Create the profile of the file and make it the active one."""
    data = json.loads(path.read_text())
    name = data["profile"]["name"]
    last = SearchProfile.objects.filter(name=name).aggregate(last=Max("version"))["last"] or 0
    profile = SearchProfile(**data["profile"], version=last + 1)
    profile.save()
    for row in data["weights"]:
        ClassWeights.objects.create(profile=profile, **row)
    return activate(
        profile,
        action=ProfileChange.Action.PUBLISHED,
        acting_user=None,
        reason="Restored from an exported server.",
    )


def _profile_of(collection: Collection) -> SearchProfile:
    own = ScopeProfile.objects.filter(collection=collection).first()
    in_force = names_in_force().get(own.profile) if own else None
    return in_force or SearchProfile.objects.get(state=SearchProfile.State.ACTIVE)


def _fields(row: SearchProfile | ClassWeights) -> dict[str, Any]:
    fields: dict[str, Any] = json.loads(serializers.serialize("json", [row]))[0]["fields"]
    return {name: value for name, value in fields.items() if name not in _HISTORY}


READING = {"GET", "HEAD", "OPTIONS"}
# Posted, because questions are long; they change nothing.
QUESTIONS = (
    "/answers/", "/answers/stream/", "/api/v1/search/", "/api/v1/answers/", "/v1/chat/completions",
)  # fmt: skip
CLOSED = ("/admin/", "/accounts/", "/login/", "/logout/")


class ReadOnly:
    """Refuses changes, the admin and signing in; only with READ_ONLY=1."""

    def __init__(self, get_response: Callable[[HttpRequest], Any]) -> None:
        if not settings.READ_ONLY:
            raise MiddlewareNotUsed
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> Any:
        return _refusal(request) or self._get_response(request)


def _refusal(request: HttpRequest) -> HttpResponseBase | None:
    """The response to a request that would change something; None for all others."""
    path = request.path_info
    if path.startswith(CLOSED):
        raise Http404
    if request.method in READING or path == "/" or path in QUESTIONS:
        return None
    message = _("This server is read-only: nothing can be changed here.")
    return Problem("read_only", message, 403)
