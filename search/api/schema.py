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

# What only people with a permission read.
GUARDED = tuple(
    f"/api/v1/{name}/"
    for name in (
        "gate", "golden-queries", "imports", "judgements", "profile-changes", "publications",
        "runs", "watched-folders",
    )
)  # fmt: skip


def complete(result: dict[str, Any], generator: Any, request: Any, public: bool) -> dict[str, Any]:
    """The schema with the errors of each operation, and reading open to visitors."""
    result["components"].setdefault("schemas", {})["Error"] = ERROR_SCHEMA
    for path, operations in result["paths"].items():
        for method, operation in operations.items():
            for status in _statuses(path, method):
                operation["responses"].setdefault(status, _response(status))
            is_open = method == "get" and "/auth/" not in path and not path.startswith(GUARDED)
            if is_open and {} not in operation["security"]:
                operation["security"].append({})
    return result


def _statuses(path: str, method: str) -> list[str]:
    statuses = {"401", "429"}  # a token that is wrong is refused everywhere
    if method != "get" and not path.endswith("/auth/token/"):
        statuses.add("403")
    if (method == "get" and "{" not in path) or path.endswith(("/documents/", "/token/")):
        statuses.add("400")
    if path.endswith(("/versions/", "/interactions/")):
        statuses.add("400")
    if path.endswith("/search/"):
        statuses.add("503")
    if "{" in path:
        statuses.add("404")
    if "/tuning/" in path:
        statuses.add("400")
    if path.endswith(("/reprocess/", "/retry/")):
        statuses.add("409")
    if path.startswith(GUARDED):
        statuses |= {"403"} if method == "get" else {"400", "409"}
    if method != "get" and path.startswith(("/api/v1/profiles/", "/api/v1/rollback/")):
        statuses |= {"400", "409"}
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
