"""What the schema says of every operation: the errors it can end in, and who may call it."""

from __future__ import annotations

from typing import Any

from search.api.examples import ERRORS

ERROR_SCHEMA: dict[str, Any] = {
    "type": "object",
    "description": "An error: a code for programs, a sentence for people, details by field.",
    "required": ["code", "message", "details"],
    "properties": {
        "code": {"type": "string"},
        "message": {"type": "string"},
        "details": {"type": "object", "additionalProperties": True},
    },
}


def complete(result: dict[str, Any], generator: Any, request: Any, public: bool) -> dict[str, Any]:
    """The schema with the errors of each operation, and reading open to visitors."""
    result["components"].setdefault("schemas", {})["Error"] = ERROR_SCHEMA
    for path, operations in result["paths"].items():
        for method, operation in operations.items():
            for status in _statuses(path, method):
                operation["responses"].setdefault(status, _response(status))
            if method == "get" and "/auth/" not in path and {} not in operation["security"]:
                operation["security"].append({})
    return result


def _statuses(path: str, method: str) -> list[str]:
    statuses = {"401", "429"}  # a token that is wrong is refused everywhere
    if method != "get" and not path.endswith("/auth/token/"):
        statuses.add("403")
    if (method == "get" and "{" not in path) or path.endswith(("/documents/", "/token/")):
        statuses.add("400")
    if path.endswith("/versions/"):
        statuses.add("400")
    if path.endswith("/search/"):
        statuses.add("503")
    if "{" in path:
        statuses.add("404")
    if path.endswith(("/reprocess/", "/retry/")):
        statuses.add("409")
    if method == "post" and path.endswith(("/documents/", "/versions/")):
        statuses.add("413")
    return sorted(statuses)


def _response(status: str) -> dict[str, Any]:
    description, example = ERRORS[status]
    return {
        "description": description,
        "content": {
            "application/json": {
                "schema": {"$ref": "#/components/schemas/Error"},
                "examples": {example["code"]: {"value": example}},
            }
        },
    }
