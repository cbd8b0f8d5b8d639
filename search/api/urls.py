"""The API: /api/v1/, its schema and documentation; and the protocol of OpenAI's API at /v1/."""

from __future__ import annotations

from django.urls import include, path, re_path
from drf_spectacular.views import SpectacularAPIView
from rest_framework.routers import SimpleRouter

from ingestion.api.urls import DOCUMENT
from ingestion.api.urls import router as library
from search.api.answers import AnswerViewSet, ThreadViewSet
from search.api.compatible.base import UnknownAddressView
from search.api.compatible.chat import ChatCompletionsView
from search.api.compatible.requests import EmbeddingsView, ModelsView, ModelView
from search.api.tokens import LogoutViewSet, TokenViewSet
from search.api.views import (
    DocumentationView,
    InteractionView,
    MissingView,
    SearchView,
    SectionViewSet,
)
from search.parts import is_installed
from search.parts.experiments.api import ExperimentViewSet

app_name = "api"

router = SimpleRouter(use_regex_path=False)
router.register(f"{DOCUMENT}/sections", SectionViewSet, "document-section")
router.register("answers", AnswerViewSet, "answer")
router.register("threads", ThreadViewSet, "thread")
router.register("auth/token", TokenViewSet, "token")
router.register("auth", LogoutViewSet, "auth")
if is_installed("experiments"):
    router.register("experiments", ExperimentViewSet, "experiment")

v1 = [
    path("search/", SearchView.as_view(), name="search"),
    path(
        "searches/<uuid:search_id>/interactions/",
        InteractionView.as_view(),
        name="search-interactions",
    ),
    *router.urls,
    *library.urls,
    path("", include("search.tuning.api.urls")),
]

urlpatterns = [
    path("v1/", include(v1)),
    path("schema/", SpectacularAPIView.as_view(), name="schema"),
    path("docs/", DocumentationView.as_view(), name="docs"),
    re_path(r"(?P<rest>[\s\S]*)\Z", MissingView.as_view(), name="missing"),
]

# Below /v1/; without a final slash, as OpenAI's.
compatible = [
    path("chat/completions", ChatCompletionsView.as_view(), name="chat"),
    path("models", ModelsView.as_view(), name="models"),
    path("models/<path:model_name>", ModelView.as_view(), name="model"),
    path("embeddings", EmbeddingsView.as_view(), name="embeddings"),
    re_path(r"(?P<rest>[\s\S]*)\Z", UnknownAddressView.as_view(), name="missing"),
]
