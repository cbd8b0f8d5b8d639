"""The addresses of the protocol, below /v1/; without a final slash, as OpenAI's."""

from __future__ import annotations

from django.urls import path, re_path

from search.api.compatible.base import UnknownAddressView
from search.api.compatible.chat import ChatCompletionsView
from search.api.compatible.embeddings import EmbeddingsView
from search.api.compatible.requests import ModelsView, ModelView

app_name = "compatible"

urlpatterns = [
    path("chat/completions", ChatCompletionsView.as_view(), name="chat"),
    path("models", ModelsView.as_view(), name="models"),
    path("models/<path:model_name>", ModelView.as_view(), name="model"),
    path("embeddings", EmbeddingsView.as_view(), name="embeddings"),
    re_path(r"(?P<rest>[\s\S]*)\Z", UnknownAddressView.as_view(), name="missing"),
]
