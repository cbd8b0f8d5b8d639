"""Embedding spaces, to look at: workers make them, people switch models by settings."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.http import HttpRequest
from unfold.admin import ModelAdmin
from unfold.decorators import display

from ingestion.admin.fields import language_name
from ingestion.models import EmbeddingSpace


@admin.register(EmbeddingSpace)
class EmbeddingSpaceAdmin(ModelAdmin):  # type: ignore[misc]
    list_display = ("name", "state_label", "dimensions", "max_tokens", "knows", "created")
    fields = ("name", "state", "fingerprint", "dimensions", "max_tokens", "knows", "created")
    readonly_fields = fields

    @display(
        description="state",
        ordering="state",
        label={"active": "success", "building": "info", "retired": ""},
    )
    def state_label(self, space: EmbeddingSpace) -> tuple[str, str]:
        return space.state, space.get_state_display()

    @admin.display(description="languages")
    def knows(self, space: EmbeddingSpace) -> str:
        return ", ".join(map(language_name, space.languages)) or "many"

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False
