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
from django.http import Http404, HttpRequest, HttpResponseBase, JsonResponse
from django.utils.translation import gettext as _

from common.api.errors import body
from ingestion.exporting.writing import export, exported_documents
from ingestion.models import Collection, EmbeddingSpace
from search.models import ClassWeights, ScopeProfile, SearchProfile
from search.models.profiles import in_force_first
from search.tuning.activation import activate
from search.tuning.models import ProfileChange

# The program: everything that runs, and nothing of its development or of this site.
CODE = ("common", "ingestion", "kbsite", "locale", "search", "static", "templates")
FILES = ("manage.py", "pyproject.toml", "requirements.txt", "LICENSE")
ARCHIVE, PROFILE = "collection.zip", "profile.json"
# What belongs to a site's history rather than to the ranking.
_HISTORY = ("version", "state", "based_on", "created", "published", "profile")

ENVIRONMENT = """\
# The settings of this server; .env.example of Steelyard lists all.
READ_ONLY=1
SEARCH_EVENTS=0
EMBEDDER={embedder}
# The names by which the server is reached, besides localhost.
#ALLOWED_HOSTS=kb.example.org,localhost,127.0.0.1
"""
DOCKERFILE = """\
FROM python:3.12-slim
RUN useradd --create-home --home-dir /srv/steelyard steelyard
WORKDIR /srv/steelyard/app
COPY app/requirements.txt .
RUN pip install --no-cache-dir --requirement requirements.txt
COPY --chown=steelyard app .
COPY data ../data
RUN mkdir ../var && chown steelyard: ../var
USER steelyard
ENV HOST=0.0.0.0 STEELYARD_VAR=/srv/steelyard/var
EXPOSE 8000
CMD ["python", "manage.py", "serve_export", "../data"]
"""
COMPOSE = """\
# docker compose up
services:
  web:
    build: .
    ports: ["8000:8000"]
    restart: unless-stopped
    volumes: [data:/srv/steelyard/var]
    healthcheck:
      test:
        - CMD
        - python
        - -c
        - import urllib.request; urllib.request.urlopen("http://localhost:8000/health/", timeout=5)
      interval: 15s
      # The first start builds the index.
      start_period: 10m
volumes:
  data:
"""
SERVE = """\
#!/bin/sh
# Install what is missing, then serve on http://localhost:8000/ (HOST and PORT change it).
set -eu
cd "$(dirname "$0")"
if [ ! -e .venv/.installed ]; then
    python3 -m venv .venv
    .venv/bin/pip install --quiet --requirement app/requirements.txt
    touch .venv/.installed
fi
exec .venv/bin/python app/manage.py serve_export data
"""
README = """\
# {name}

A read-only server of the collection “{name}”: search page, HTTP API and agents (MCP), with the
documents and the ranking of the site that it was exported from. Everyone who reaches the server
can read all of the collection.

Start it with one command:

    ./serve.sh              # Python 3.11 or newer, on Linux or macOS
    docker compose up       # or in a container

The first start installs the requirements and builds the index, which takes minutes for thousands
of documents; later starts take seconds. Then:

- http://localhost:8000/ is the search page,
- http://localhost:8000/api/v1/search/?q=QUESTION is the API, described by
  http://localhost:8000/api/docs/,
- http://localhost:8000/mcp is the address for agents.

Nothing can be changed: there are no users, no admin, and the API refuses what writes (403,
`read_only`). The database is embedded, in `app/var` (in a container in the volume `data`); remove
it to build it again.

Included: the current version of each document, hand edits, pins, and the profile {profile} with
its weights. Not included: older versions, synonyms, classification rules, hides, answer profiles
and models, users, searches.

{embedding}
"""


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
    unwanted = shutil.ignore_patterns("__pycache__", "*.pyc", ".*")
    for name in CODE:
        shutil.copytree(settings.BASE_DIR / name, app / name, ignore=unwanted)
    for name in FILES:
        shutil.copy(settings.BASE_DIR / name, app / name)


def _write_texts(collection: Collection, draft: Path, profile: str) -> None:
    embedder = settings.EMBEDDER
    space = EmbeddingSpace.objects.filter(state=EmbeddingSpace.State.ACTIVE).first()
    embedding = f"Embeddings are made again at the first start, by EMBEDDER={embedder}."
    if space is not None:
        embedding += f" The exporting site uses: {space}."
    if embedder.startswith("openai"):
        embedding += " Set OPENAI_API_KEY."
    texts = {
        "README.md": README.format(name=collection.name, profile=profile, embedding=embedding),
        "compose.yaml": COMPOSE,
        "Dockerfile": DOCKERFILE,
        ".dockerignore": ".venv\napp/var\n",
        "serve.sh": SERVE,
        "app/.env": ENVIRONMENT.format(embedder=embedder),
    }
    for name, text in texts.items():
        (draft / name).write_text(text)
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
    if own is not None:
        versions = SearchProfile.objects.filter(name=own.profile).exclude(published=None)
        profile = versions.order_by(*in_force_first()).first()
        if profile is not None:
            return profile
    return SearchProfile.objects.get(state=SearchProfile.State.ACTIVE)


def _fields(row: SearchProfile | ClassWeights) -> dict[str, Any]:
    fields: dict[str, Any] = json.loads(serializers.serialize("json", [row]))[0]["fields"]
    return {name: value for name, value in fields.items() if name not in _HISTORY}


READING = {"GET", "HEAD", "OPTIONS"}
# Posted, because questions are long; they change nothing.
QUESTIONS = (
    "/answers/", "/answers/stream/", "/api/v1/search/", "/api/v1/answers/", "/v1/chat/completions",
    "/v1/responses", "/v1/embeddings",
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
    return JsonResponse(body("read_only", message), status=403)
