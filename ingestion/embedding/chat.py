"""A chat model that is asked for one JSON object, over OpenAI's API.

The other module of this package that speaks to OpenAI; with its own retries, for the reasons given
there. For work in the background only: a call takes seconds.
"""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from typing import Any

from common.guarded import retry_after
from ingestion.embedding.retry import TRANSIENT, Retries, TransientError
from ingestion.errors import EmbeddingUnavailable


@dataclass(frozen=True, slots=True)
class ChatConfig:
    """A server and its model. `timeout` bounds one try, `deadline` all of them, in seconds."""

    model: str
    base_url: str | None = None
    api_key: str = ""
    timeout: float = 30.0
    deadline: float = 90.0
    attempts: int = 3


class NoAnswer(Exception):
    """The model gave no usable answer; the message says why, for people."""


def ask_for_json(
    config: ChatConfig, system: str, user: str, schema: dict[str, Any], *, most_tokens: int
) -> Any:
    """The model's JSON answer to `user`, which must follow `schema`, in at most `most_tokens`.

    Transient failures are tried again. Raises NoAnswer for a failure or an answer that is no JSON;
    whether it follows the schema is for the caller to check: not every server enforces it.
    """
    # Imported when it is needed: it takes half a second, of every process.
    import openai

    client = openai.OpenAI(
        # The client requires a key; servers that need none ignore it.
        api_key=config.api_key or "none",
        base_url=config.base_url,
        max_retries=0,
    )

    def attempt(left: float) -> str:
        try:
            answer = client.chat.completions.create(
                model=config.model,
                messages=[
                    {"role": "system", "content": system},
                    {"role": "user", "content": user},
                ],
                response_format={
                    "type": "json_schema",
                    "json_schema": {"name": "answer", "strict": True, "schema": schema},
                },
                max_completion_tokens=most_tokens,
                timeout=min(config.timeout, max(left, 0.001)),
            )
        except openai.APITimeoutError as error:
            raise TransientError("did not answer in time") from error
        except openai.APIConnectionError as error:
            raise TransientError("cannot be reached") from error
        except openai.APIStatusError as error:
            status = error.status_code
            if (status in TRANSIENT or status >= 500) and error.code != "insufficient_quota":
                wait = retry_after(error.response.headers.get("retry-after"))
                raise TransientError(f"answered with error {status}", wait) from error
            raise NoAnswer(f"The server refused the request (error {status}).") from error
        return answer.choices[0].message.content or "" if answer.choices else ""

    try:
        with client:
            text = Retries(config.attempts, time.sleep).call(attempt, deadline=config.deadline)
        return json.loads(text)
    except EmbeddingUnavailable as error:
        raise NoAnswer(str(error).replace("embedding server", "server")) from error
    except (ValueError, RecursionError, openai.OpenAIError) as error:
        raise NoAnswer(f"The answer of {config.model} is no JSON.") from error
