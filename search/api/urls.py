"""The API: /api/v1/, its schema and its documentation."""

from __future__ import annotations

from typing import Any

from django.urls import include, path, re_path
from drf_spectacular.views import SpectacularAPIView, SpectacularSwaggerView

from ingestion.api import CollectionViewSet, DocumentViewSet
from search.api.tokens import TokenViewSet
from search.api.views import MissingView, ProfileViewSet, SearchView

app_name = "api"

_one: dict[str, Any] = {"get": "retrieve"}
_many: dict[str, Any] = {"get": "list"}

v1 = [
    path("search/", SearchView.as_view(), name="search"),
    path(
        "documents/",
        DocumentViewSet.as_view({**_many, "post": "create"}),
        name="documents",
    ),
    path(
        "documents/<uuid:public_id>/",
        DocumentViewSet.as_view({**_one, "delete": "destroy"}),
        name="document",
    ),
    path(
        "documents/<uuid:public_id>/versions/",
        DocumentViewSet.as_view({"post": "add_version"}),
        name="document-versions",
    ),
    path(
        "documents/<uuid:public_id>/reprocess/",
        DocumentViewSet.as_view({"post": "reprocess"}),
        name="document-reprocess",
    ),
    path(
        "documents/<uuid:public_id>/retry/",
        DocumentViewSet.as_view({"post": "retry"}),
        name="document-retry",
    ),
    path("collections/", CollectionViewSet.as_view(_many), name="collections"),
    path("collections/<slug:slug>/", CollectionViewSet.as_view(_one), name="collection"),
    path("profiles/", ProfileViewSet.as_view(_many), name="profiles"),
    # Names may hold a slash (textbook:60/40); they never hold an @.
    path(
        "profiles/<path:name>@<int:version>/",
        ProfileViewSet.as_view(_one),
        name="profile-version",
    ),
    path("profiles/<path:name>/", ProfileViewSet.as_view(_one), name="profile"),
    path("auth/token/", TokenViewSet.as_view({**_many, "post": "create"}), name="tokens"),
    path("auth/token/<slug:key>/", TokenViewSet.as_view({"delete": "destroy"}), name="token"),
    path("auth/logout/", TokenViewSet.as_view({"post": "logout"}), name="logout"),
    path("auth/logoutall/", TokenViewSet.as_view({"post": "logout_all"}), name="logout-all"),
]

urlpatterns = [
    path("v1/", include(v1)),
    path("schema/", SpectacularAPIView.as_view(), name="schema"),
    path("docs/", SpectacularSwaggerView.as_view(url_name="api:schema"), name="docs"),
    re_path(r"^(?P<rest>.*)$", MissingView.as_view(), name="missing"),
]
