"""Every URL of the project, taken from the URL resolver, so that none can be missed."""

from __future__ import annotations

import copy
import io
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from unittest import mock
from zipfile import ZipFile

from django.conf import settings
from django.contrib import auth
from django.contrib.contenttypes.models import ContentType
from django.contrib.messages import get_messages
from django.http import HttpRequest, HttpResponseBase, QueryDict
from django.template import Template
from django.test import Client
from django.test.utils import _TestState
from django.urls import URLPattern, URLResolver, get_resolver
from django.urls.resolvers import RegexPattern, RoutePattern

from ingestion.models import Chunk, Collection, Document, DocumentVersion

# Differences between responses that carry no information: tokens and times. A lookbehind stands for
# a word's boundary at the beginning: a pattern that begins with that takes up to 30 times as long.
_NOISE = (
    (re.compile(r"[A-Za-z0-9]{64}(?<!\w.{64})\b"), "TOKEN"),
    (re.compile(r'nonce="[^"]{24}"'), "NONCE"),
    (re.compile(r"cursor=[\w%=-]+"), "CURSOR"),  # enciphered, and never twice the same
    (re.compile(r'"search_id":"[0-9a-f-]{36}"'), "SEARCH"),
    (re.compile(r"/searches/[0-9a-f-]{36}/"), "SEARCH"),
    (re.compile(r"answer-[0-9a-f]{8}(?<!\w.{15})\b"), "ANSWER"),
    (re.compile(r'"exported": ?"[^"]*"'), "EXPORTED"),
    (re.compile(r'"timing_ms":\{[^}]*\}'), "TIMES"),
    (re.compile(r"\d(?<!\w.)\d*(\.\d+)?(\s|&nbsp;|\u202f|\xa0)*ms\b"), "N ms"),
)
_HEADERS = ("Content-Type", "Location", "Content-Disposition", "ETag", "Last-Modified", "Allow")

# Stands for all parameters, as if each had been read: somebody iterated over them.
EVERYTHING = "*"


@dataclass(frozen=True, slots=True)
class Route:
    """A URL pattern of the project: its whole route as written, and its parameters."""

    route: str
    parts: tuple[RoutePattern | RegexPattern, ...]
    parameters: tuple[str, ...]

    def address(self, arguments: Mapping[str, Any]) -> str:
        """The path with the arguments filled in. Raises LookupError for a missing one."""
        path = ""
        for part in self.parts:
            text = str(part)
            if isinstance(part, RegexPattern):
                text = re.sub(r"\(\?P<(\w+)>(?:[^()]|\([^()]*\))*\)", r"<\1>", text)
                text = text.removeprefix("^").removesuffix("$").removesuffix("\\Z")
            path += re.sub(r"<(?:\w+:)?(\w+)>", lambda match: str(arguments[match[1]]), text)
        return f"/{path}"


@dataclass(frozen=True, slots=True)
class Answer:
    """The part of a response that a visitor can observe."""

    status: int
    headers: tuple[tuple[str, str], ...]
    body: str = field(repr=False)
    read: frozenset[str] = field(default=frozenset({EVERYTHING}), compare=False, repr=False)

    def depends_on(self, parameters: Mapping[str, Any]) -> bool:
        """Whether these parameters could change the response: one that is never read cannot."""
        return not self.read.isdisjoint({EVERYTHING, *parameters})

    def refuses(self, parameters: Mapping[str, Any]) -> set[str]:
        """Those of the parameters asked with that it says are none of the address."""
        if self.status != 400 or "There is no such parameter" not in self.body:
            return set()
        return {name for name in parameters if f'"{name}":' in self.body}

    @property
    def text(self) -> str:
        return "\n".join([*(value for _, value in self.headers), self.body])


def routes() -> list[Route]:
    """All URL patterns of the project, in the resolver's order."""
    return list(_routes(get_resolver(), ()))


def _routes(resolver: URLResolver, above: tuple[Any, ...]) -> Iterator[Route]:
    for entry in resolver.url_patterns:
        parts = (*above, entry.pattern)
        if isinstance(entry, URLResolver):
            yield from _routes(entry, parts)
        elif isinstance(entry, URLPattern):
            names = [n for part in parts for n in part.regex.groupindex]
            yield Route("".join(map(str, parts)), parts, tuple(names))


class NotedQuery(QueryDict):
    """Query parameters that record which of them were read."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        self.read: set[str] = set()
        super().__init__(*arguments, **options)
        self.read.clear()  # of the reads made while filling it

    def __getitem__(self, key: str) -> Any:
        self.read.add(key)
        return super().__getitem__(key)

    def __contains__(self, key: object) -> bool:
        self.read.add(str(key))
        return super().__contains__(key)

    def _getlist(self, key: str, *arguments: Any, **options: Any) -> Any:
        self.read.add(key)
        return super()._getlist(key, *arguments, **options)


def _noted(name: str) -> Any:
    def method(self: NotedQuery, *arguments: Any) -> Any:
        self.read.add(EVERYTHING)
        return getattr(QueryDict, name)(self, *arguments)

    return method


for _name in ("__iter__", "__len__", "__eq__", "keys", "lists"):
    setattr(NotedQuery, _name, _noted(_name))


@contextmanager
def recorded_parameters() -> Iterator[None]:
    """Within the block, responses record which query parameters were read."""
    with mock.patch("django.core.handlers.wsgi.QueryDict", NotedQuery):
        yield


@contextmanager
def without_template_contexts() -> Iterator[None]:
    """Within the block, responses do not hold the contexts of their templates, which are copied."""
    plain = _TestState.saved_data.template_render
    with mock.patch.object(Template, "_render", plain):
        yield


@contextmanager
def cached_viewers() -> Iterator[None]:
    """Within the block a viewer and their permissions are read once; a request gets a copy.

    Reading them took a quarter of a walk. A copy, so that what a view keeps at its viewer does not
    reach the next request.
    """
    read, viewers = auth.get_user, {}

    def get_user(request: HttpRequest) -> Any:
        session = request.COOKIES.get(settings.SESSION_COOKIE_NAME, "")
        if session not in viewers:
            viewers[session] = read(request)
            viewers[session].get_all_permissions()
        return copy.copy(viewers[session])

    with mock.patch.object(auth, "get_user", get_user):
        yield


def answer(client: Client, method: str, address: str, **extra: Any) -> Answer:
    """The response to one request, without its noise. Server errors are raised."""
    response: HttpResponseBase = getattr(client, method)(address, **extra)
    stream = getattr(response, "streaming_content", None)
    raw = b"".join(stream) if stream is not None else response.content  # type: ignore[attr-defined]
    body = (_unpacked(raw) if raw.startswith(b"PK") else raw).decode("utf-8", "replace")
    for noise, name in _NOISE:
        body = noise.sub(name, body)
    # A message is shown on the next page, whichever that is, but belongs to this response.
    notes = get_messages(response.wsgi_request)  # type: ignore[attr-defined]
    body += "\n".join(str(message) for message in notes)
    client.cookies.pop("messages", None)
    headers = tuple((name, response.headers[name]) for name in _HEADERS if name in response.headers)
    noted = getattr(response.wsgi_request.GET, "read", {EVERYTHING})  # type: ignore[attr-defined]
    return Answer(response.status_code, headers, body, frozenset(noted))


def _unpacked(archive: bytes) -> bytes:
    """The contents of an archive's members, which cannot be searched while compressed."""
    with ZipFile(io.BytesIO(archive)) as members:
        return b"\n".join(name.encode() + b"\n" + members.read(name) for name in members.namelist())


@dataclass(frozen=True, slots=True)
class Subject:
    """The values of URL parameters: one document with its collection, existing or not."""

    public_id: str
    slug: str
    document: str
    collection: str
    version: str
    chunk: str

    @classmethod
    def of(cls, document: Document) -> Subject:
        chunk = Chunk.objects.filter(document=document).first()
        return cls(
            str(document.public_id),
            document.collection.slug,
            str(document.pk),
            str(document.collection_id),
            str(document.latest_id),
            str(chunk.pk if chunk else 0),
        )

    def object_id(self, model: str) -> str | None:
        """The subject's primary key in a model of the library; None for other models."""
        return {
            "document": self.document,
            "collection": self.collection,
            "documentversion": self.version,
            "chunk": self.chunk,
        }.get(model)


MISSING = Subject("00000000-0000-4000-8000-000000000000", "no-such-collection", *["987654321"] * 4)

# Parameters that name no object of the library: one value for all.
_PLAIN: dict[str, Sequence[str]] = {
    "profile": ["default@1", "default"], "name": ["default"], "version": ["1"],
    "key": ["0123456789abcde"], "token": ["no-such-token"],
    "golden": ["00000000-0000-4000-8000-000000000001"], "number": ["1"], "ordinal": ["0"],
    "publication": ["1"], "run": ["1"], "experiment": ["1"], "optimisation": ["1"],
    "search_id": ["00000000-0000-4000-8000-00000000000a"],
    "answer_id": ["00000000-0000-4000-8000-00000000000b"], "delivery": ["1"],
    "provider_id": ["no-such-provider"], "thread_id": ["00000000-0000-4000-8000-00000000000c"],
    "app_label": ["ingestion", "search", "tuning", "analytics", "accounts", "auth"],
    "url": ["no/such/page"], "rest": ["no/such/address/"], "resource": ["api"],
    "kind": ["pin", "hide"],
}  # fmt: skip
# The admin's names for the primary key of the model that the route names.
_KEYS = ("object_id", "pk", "id")
_MODEL = re.compile(r"^admin/(?:\w+/)(\w+)/")
_TYPES = (Document, Collection, DocumentVersion, Chunk)


def names_subject(route: Route) -> bool:
    """Whether an address of the route can name a document or a collection."""
    model = _MODEL.match(route.route)
    if set(_KEYS) & set(route.parameters) and model:
        return MISSING.object_id(model[1]) is not None
    return bool({"public_id", "slug", "content_type_id", "model_name"} & set(route.parameters))


def addresses(route: Route, subject: Subject) -> list[str]:
    """The route's URLs for a subject. Raises LookupError for an unknown parameter.

    A new URL parameter needs an entry here.
    """
    known: list[dict[str, Any]] = [
        {
            "public_id": subject.public_id,
            "slug": subject.slug,
            "chunk": "0",
            "pk": "1",
            "model_name": f"steelyard/{subject.slug}",
        }
    ]
    if "content_type_id" in route.parameters:
        known = [
            {
                "content_type_id": ContentType.objects.get_for_model(model).pk,
                "object_id": subject.object_id(model._meta.model_name or ""),
            }
            for model in _TYPES
        ]
    elif model := _MODEL.match(route.route):
        own = dict.fromkeys(_KEYS, subject.object_id(model[1]) or "1")
        known = [{**own, "chunk": subject.chunk}]
    for name, values in _PLAIN.items():
        if name in route.parameters:
            known = [{**each, name: value} for each in known for value in values]
    return [route.address(each) for each in known]
