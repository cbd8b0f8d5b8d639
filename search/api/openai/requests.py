"""The request of a chat completion: its question, its model, and what is refused."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ingestion.models.visibility import Viewer
from search.answers.earlier_questions import MOST_EARLIER
from search.api.openai.models import ModelChoice, choose
from search.api.openai.protocol import BadRequest

ROLES = frozenset({"system", "developer", "user", "assistant", "tool", "function"})
MAX_MESSAGES = 2000
_NO_TOOLS = ((None, "none", "auto"), "This API calls no tools: do not force one.")
_TEXT_ONLY = ((None, "text"), "Answers are text with citations: leave the format out.")
# What a client must not believe to have, with the values that mean "not wanted": agents and chat
# programs send these always, and tools, which are ignored.
_REFUSED: Mapping[str, tuple[tuple[Any, ...], str]] = {
    "n": ((None, 1), "There is one answer to a question: leave n at 1."),
    "modalities": ((None, ["text"]), "Answers are text only."),
    **dict.fromkeys(("tool_choice", "function_call"), _NO_TOOLS),
    "response_format": _TEXT_ONLY,
} | {
    name: ((None, False), f"This API does not support {name}. Leave it out.")
    for name in ("logprobs", "audio", "web_search_options")
}


@dataclass(frozen=True, slots=True)
class ChatRequest:
    """`earlier` are the user's messages before the question, in their order."""

    question: str
    earlier: tuple[str, ...]
    model: ModelChoice
    is_streamed: bool
    counts_usage: bool
    abstain_below: float | None


def read_chat(body: Mapping[str, Any], viewer: Viewer) -> ChatRequest:
    """The request of a body. Raises BadRequest and NoSuchModel."""
    if "model" not in body:
        raise BadRequest("Name a model, such as steelyard.", "model", "missing_required_parameter")
    _check_supported(body)
    questions = _questions(body.get("messages"))
    options = body.get("stream_options") or {}
    if not isinstance(options, Mapping):
        raise BadRequest("stream_options must be an object.", "stream_options")
    return ChatRequest(
        question=questions[-1],
        earlier=tuple(questions[:-1]),
        model=choose(body["model"], viewer),
        is_streamed=_flag(body, "stream"),
        counts_usage=_flag(options, "include_usage"),
        abstain_below=_share(body, "abstain_below"),
    )


def _check_supported(body: Mapping[str, Any]) -> None:
    for name, (accepted, message) in _REFUSED.items():
        value = body.get(name)
        if accepted is _TEXT_ONLY[0] and isinstance(value, Mapping):
            value = value.get("type")
        if value not in accepted:
            raise BadRequest(message, name, "unsupported_parameter")


def _questions(messages: Any) -> list[str]:
    """The texts of the user's last messages, the last of which is the question."""
    if not isinstance(messages, list) or not messages or len(messages) > MAX_MESSAGES:
        raise BadRequest(f"messages must be a list of 1 to {MAX_MESSAGES:,} messages.", "messages")
    for place, message in enumerate(messages):
        role = message.get("role") if isinstance(message, Mapping) else None
        if not isinstance(role, str) or role not in ROLES:
            roles = ", ".join(sorted(ROLES))
            raise BadRequest(
                f"messages[{place}] must be an object with one of the roles {roles}.",
                f"messages[{place}].role",
            )
    places = [place for place, each in enumerate(messages) if each.get("role") == "user"]
    if not places:
        raise BadRequest("There is no message of the role user: it is the question.", "messages")
    texts = [
        _text(messages[place], f"messages[{place}].content", is_last=place == places[-1])
        for place in places[-1 - MOST_EARLIER :]
    ]
    if not texts[-1].strip():
        raise BadRequest("The last message of the user is empty.", f"messages[{places[-1]}]")
    return texts


def _text(message: Mapping[str, Any], param: str, *, is_last: bool) -> str:
    """A message's text. Only of the question, parts that are no text are an error."""
    content = message.get("content")
    parts = content if isinstance(content, list) else [{"type": "text", "text": content}]
    texts = []
    for part in parts:
        if isinstance(part, Mapping) and part.get("type") == "text":
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


def _share(body: Mapping[str, Any], name: str) -> float | None:
    value = body.get(name)
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if value is not None and not (is_number and 0 <= value <= 1):
        raise BadRequest(f"{name} must be a number from 0 to 1.", name)
    return value
