"""The API: /api/v1/, its schema and its documentation."""

from __future__ import annotations

from django.urls import include, path, re_path
from drf_spectacular.views import SpectacularAPIView, SpectacularSwaggerView
from rest_framework.routers import SimpleRouter

from ingestion.api.urls import DOCUMENT
from ingestion.api.urls import router as library
from search.analytics.api import InteractionView
from search.api.tokens import LogoutViewSet, TokenViewSet
from search.api.views import MissingView, SearchView, SectionViewSet

app_name = "api"

router = SimpleRouter(use_regex_path=False)
router.register(f"{DOCUMENT}/sections", SectionViewSet, "document-section")
router.register("auth/token", TokenViewSet, "token")
router.register("auth", LogoutViewSet, "auth")

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
    path("docs/", SpectacularSwaggerView.as_view(url_name="api:schema"), name="docs"),
    re_path(r"^(?P<rest>.*)$", MissingView.as_view(), name="missing"),
]
