"""Read requests: the question, its model, what is refused; and list models, embed texts.

POST /v1/embeddings gives texts as vectors of the model that this site searches with.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from rest_framework.permissions import BasePermission, IsAuthenticated
from rest_framework.request import Request
from rest_framework.response import Response

from ingestion import spaces
from ingestion.errors import EmbeddingUnavailable
from ingestion.models import Collection
from ingestion.models.collections import Viewer
from search.answers.domain import Mode
from search.answers.follow_ups import MOST_EARLIER
from search.api.openai_protocol import (
    AnsweringView,
    BadRequest,
    CompatibleView,
    NoSuchModel,
    fields_of,
)
from search.engine import configuration

ROLES = frozenset({"system", "developer", "user", "assistant", "tool", "function"})
MAX_MESSAGES = 2000
_NO_TOOLS = ((None, "none", "auto"), "This API calls no tools: do not force one.")
_TEXT_ONLY = ((None, "text"), "Answers are text with citations: leave the format out.")
_ALL_IN_ONE = ((None,), "Nothing is kept between requests: send the earlier messages, too.")
# What a client must not believe to have, with the values that mean "not wanted": agents and chat
# programs send these always, and tools, which are ignored.
_REFUSED: Mapping[str, tuple[tuple[Any, ...], str]] = {
    "n": ((None, 1), "There is one answer to a question: leave n at 1."),
    "modalities": ((None, ["text"]), "Answers are text only."),
    **dict.fromkeys(("tool_choice", "function_call"), _NO_TOOLS),
    **dict.fromkeys(("response_format", "text.format"), _TEXT_ONLY),
    **dict.fromkeys(("previous_response_id", "conversation"), _ALL_IN_ONE),
} | {
    name: ((None, False), f"This API does not support {name}. Leave it out.")
    for name in ("logprobs", "audio", "web_search_options", "background", "prompt")
}


@dataclass(frozen=True, slots=True)
class ChatRequest:
    """`earlier` are the user's messages before the question, in their order."""

    question: str
    earlier: tuple[str, ...]
    model: ModelChoice
    is_streamed: bool
    counts_usage: bool


def read_chat(body: Mapping[str, Any], viewer: Viewer, *, name: str = "messages") -> ChatRequest:
    """The request of a body, whose messages are its field `name`: those of a chat, or the `input`
    of a response, which may be the question alone. Raises BadRequest and NoSuchModel.
    """
    if "model" not in body:
        raise BadRequest("Name a model, such as steelyard.", "model", "missing_required_parameter")
    _check_supported(body)
    messages = body.get(name)
    if name == "input" and isinstance(messages, str):
        messages = [{"role": "user", "content": messages}]
    questions = _questions(messages, name)
    options = body.get("stream_options") or {}
    if not isinstance(options, Mapping):
        raise BadRequest("stream_options must be an object.", "stream_options")
    return ChatRequest(
        question=questions[-1],
        earlier=tuple(questions[:-1]),
        model=choose(body["model"], viewer),
        is_streamed=_flag(body, "stream"),
        counts_usage=_flag(options, "include_usage"),
    )


def _check_supported(body: Mapping[str, Any]) -> None:
    text = body.get("text")
    fields = {**body, "text.format": text.get("format") if isinstance(text, Mapping) else text}
    for name, (accepted, message) in _REFUSED.items():
        value = fields.get(name)
        if accepted is _TEXT_ONLY[0] and isinstance(value, Mapping):
            value = value.get("type")
        if value not in accepted:
            raise BadRequest(message, name, "unsupported_parameter")


def _questions(messages: Any, name: str) -> list[str]:
    """The texts of the user's last messages, the last of which is the question."""
    if not isinstance(messages, list) or not messages or len(messages) > MAX_MESSAGES:
        raise BadRequest(f"{name} must be a list of 1 to {MAX_MESSAGES:,} messages.", name)
    for place, message in enumerate(messages):
        role = message.get("role") if isinstance(message, Mapping) else None
        if (
            role is None and isinstance(message, Mapping) and "type" in message
        ):  # a call of a tool, its result, thoughts
            continue
        if not isinstance(role, str) or role not in ROLES:
            roles = ", ".join(sorted(ROLES))
            raise BadRequest(
                f"{name}[{place}] must be an object with one of the roles {roles}.",
                f"{name}[{place}].role",
            )
    places = [place for place, each in enumerate(messages) if each.get("role") == "user"]
    if not places:
        raise BadRequest("There is no message of the role user: it is the question.", name)
    texts = [
        _text(messages[place], f"{name}[{place}].content", is_last=place == places[-1])
        for place in places[-1 - MOST_EARLIER :]
    ]
    if not texts[-1].strip():
        raise BadRequest("The last message of the user is empty.", f"{name}[{places[-1]}]")
    return texts


def _text(message: Mapping[str, Any], param: str, *, is_last: bool) -> str:
    """A message's text. Only of the question, parts that are no text are an error."""
    content = message.get("content")
    parts = content if isinstance(content, list) else [{"type": "text", "text": content}]
    texts = []
    for part in parts:
        if isinstance(part, Mapping) and part.get("type") in ("text", "input_text"):
            text = part.get("text")
            if isinstance(text, str):
                texts.append(text)
                continue
        if is_last:
            raise BadRequest("A question is a text, or a list of parts that are texts.", param)
    return _clean("\n".join(texts))


def _clean(text: str) -> str:
    """The text without characters that Postgres cannot store: NUL, halves of surrogate pairs."""
    return text.replace("\x00", "").encode("utf-8", "ignore").decode()


def _flag(body: Mapping[str, Any], name: str) -> bool:
    value = body.get(name)
    if value is not None and not isinstance(value, bool):
        raise BadRequest(f"{name} must be true or false.", name)
    return bool(value)


def texts_of(value: Any) -> Sequence[str]:
    """The input of embeddings: a string or strings. Raises BadRequest."""
    texts = [value] if isinstance(value, str) else value
    if not isinstance(texts, list) or not texts or not all(isinstance(t, str) for t in texts):
        raise BadRequest(
            "input must be a string or a list of strings. Token numbers are not accepted: with "
            "LangChain, set check_embedding_ctx_length=False.",
            "input",
        )
    if not all(text.strip() for text in texts):
        raise BadRequest("input must not contain an empty string.", "input")
    return [_clean(text) for text in texts]


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


# A request holds a worker while it lasts: about a second on one core with the packaged model.
MAX_TEXTS = 64
MAX_CHARACTERS = 100_000
FORMATS = ("float", "base64")
PURPOSES = ("document", "query")


class EmbeddingsView(AnsweringView):
    """The vectors of texts. For signed-in users: strangers would only cost time."""

    permission_classes: tuple[type[BasePermission], ...] = (IsAuthenticated,)

    def post(self, request: Request) -> Response:
        """Embed texts."""
        body = fields_of(request)
        texts = texts_of(body.get("input"))
        if len(texts) > MAX_TEXTS or sum(map(len, texts)) > MAX_CHARACTERS:
            raise BadRequest(
                f"At most {MAX_TEXTS} texts of {MAX_CHARACTERS:,} characters in all.", "input"
            )
        form = _one_of(body, "encoding_format", FORMATS)
        purpose = _one_of(body, "input_type", PURPOSES)
        space = configuration.current().space
        if space is None:
            raise EmbeddingUnavailable("This site has no embedding model at the moment.")
        embedder = spaces.embedder(space)
        card = embedder.card
        if body.get("model") not in (NAME, card.name):
            raise NoSuchModel(str(body.get("model"))[:200])
        if body.get("dimensions") not in (None, card.dimensions):
            raise BadRequest(f"The vectors have {card.dimensions} dimensions.", "dimensions")
        if purpose == "query":
            vectors = np.stack([embedder.embed_query(text) for text in texts])
        else:
            vectors = embedder.embed_documents(texts)
        tokens = sum(embedder.tokenizer.count(text) for text in texts)
        return Response(
            {
                "object": "list",
                "model": card.name,
                "data": [_embedding_data(place, each, form) for place, each in enumerate(vectors)],
                "usage": {"prompt_tokens": tokens, "total_tokens": tokens},
            }
        )


def _embedding_data(place: int, vector: Any, form: str) -> dict[str, Any]:
    values = np.asarray(vector, dtype="<f4")
    value: Any = values.tolist()
    if form == "base64":
        value = base64.b64encode(values.tobytes()).decode("ascii")
    return {"object": "embedding", "index": place, "embedding": value}


def _one_of(body: dict[str, Any], name: str, choices: tuple[str, ...]) -> str:
    value = body.get(name)
    if value is None:
        return choices[0]
    if value not in choices:
        raise BadRequest(f"{name} must be one of: {', '.join(choices)}.", name)
    return str(value)
