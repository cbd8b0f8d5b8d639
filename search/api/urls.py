"""The API: /api/v1/, its schema and its documentation."""

from __future__ import annotations

from typing import Any

from django.urls import include, path, re_path
from drf_spectacular.views import SpectacularAPIView, SpectacularSwaggerView

from ingestion.api import CollectionViewSet, DocumentViewSet
from ingestion.api_imports import (
    CollectionExportViewSet,
    ImportViewSet,
)
from ingestion.api_passages import EditViewSet, PassageViewSet
from ingestion.api_spaces import SpaceViewSet
from ingestion.api_versions import VersionViewSet
from ingestion.api_watching import WatchedFolderViewSet
from search.api.experiments import ExperimentViewSet
from search.api.golden import GoldenQueryViewSet, JudgementViewSet
from search.api.optimisations import OptimisationViewSet, StartingViewSet
from search.api.profiles import ProfileViewSet
from search.api.publications import (
    ChangeViewSet,
    GateViewSet,
    PublicationViewSet,
    RollbackViewSet,
)
from search.api.runs import RunViewSet
from search.api.searches import InteractionView
from search.api.sections import SectionView
from search.api.tokens import TokenViewSet
from search.api.tuning import CandidatesView, PreviewView, WhatIfView
from search.api.views import MissingView, SearchView

app_name = "api"

_one: dict[str, Any] = {"get": "retrieve"}
_many: dict[str, Any] = {"get": "list"}

v1 = [
    path("search/", SearchView.as_view(), name="search"),
    path(
        "searches/<uuid:search_id>/interactions/",
        InteractionView.as_view(),
        name="search-interactions",
    ),
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
        DocumentViewSet.as_view({"get": "list_versions", "post": "add_version"}),
        name="document-versions",
    ),
    path(
        "documents/<uuid:public_id>/restore/",
        DocumentViewSet.as_view({"post": "restore"}),
        name="document-restore",
    ),
    path(
        "documents/<uuid:public_id>/versions/<int:number>/original/",
        VersionViewSet.as_view({"get": "original"}),
        name="document-version-original",
    ),
    path(
        "documents/<uuid:public_id>/versions/<int:number>/make-current/",
        VersionViewSet.as_view({"post": "make_current"}),
        name="document-version-make-current",
    ),
    path(
        "documents/<uuid:public_id>/chunks/",
        PassageViewSet.as_view(_many),
        name="document-chunks",
    ),
    path(
        "documents/<uuid:public_id>/chunks/<int:chunk>/edit/",
        PassageViewSet.as_view({"put": "edit", "delete": "undo"}),
        name="document-chunk-edit",
    ),
    path("documents/<uuid:public_id>/edits/", EditViewSet.as_view(_many), name="document-edits"),
    path(
        "documents/<uuid:public_id>/edits/<int:pk>/",
        EditViewSet.as_view({"delete": "destroy"}),
        name="document-edit",
    ),
    path(
        "documents/<uuid:public_id>/edits/<int:pk>/place/",
        EditViewSet.as_view({"post": "place"}),
        name="document-edit-place",
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
    path(
        "documents/<uuid:public_id>/sections/<int:chunk>/",
        SectionView.as_view(),
        name="document-section",
    ),
    path("collections/", CollectionViewSet.as_view(_many), name="collections"),
    path("collections/<slug:slug>/", CollectionViewSet.as_view(_one), name="collection"),
    path(
        "collections/<slug:slug>/export/",
        CollectionExportViewSet.as_view({"get": "export"}),
        name="collection-export",
    ),
    path("imports/", ImportViewSet.as_view({**_many, "post": "create"}), name="imports"),
    path("imports/<int:number>/", ImportViewSet.as_view(_one), name="import"),
    path(
        "imports/<int:number>/items/", ImportViewSet.as_view({"get": "items"}), name="import-items"
    ),
    path(
        "imports/<int:number>/cancel/",
        ImportViewSet.as_view({"post": "cancel"}),
        name="import-cancel",
    ),
    path(
        "imports/<int:number>/resume/",
        ImportViewSet.as_view({"post": "resume"}),
        name="import-resume",
    ),
    path(
        "imports/<int:number>/retry/", ImportViewSet.as_view({"post": "retry"}), name="import-retry"
    ),
    path("watched-folders/", WatchedFolderViewSet.as_view(_many), name="watched-folders"),
    path(
        "watched-folders/<int:number>/", WatchedFolderViewSet.as_view(_one), name="watched-folder"
    ),
    path(
        "profiles/",
        ProfileViewSet.as_view({**_many, "post": "create"}),
        name="profiles",
    ),
    # Names may hold a slash (textbook:60/40); they never hold an @.
    path(
        "profiles/<path:name>@<int:version>/publish/",
        ProfileViewSet.as_view({"post": "publish"}),
        name="profile-publish",
    ),
    path(
        "profiles/<path:name>@<int:version>/differences/",
        ProfileViewSet.as_view({"get": "differences"}),
        name="profile-differences",
    ),
    path(
        "profiles/<path:name>@<int:version>/",
        ProfileViewSet.as_view({**_one, "patch": "partial_update", "delete": "destroy"}),
        name="profile-version",
    ),
    path("profiles/<path:name>/", ProfileViewSet.as_view(_one), name="profile"),
    path("rollback/", RollbackViewSet.as_view({"post": "create"}), name="rollback"),
    path("profile-changes/", ChangeViewSet.as_view(_many), name="profile-changes"),
    path(
        "gate/",
        GateViewSet.as_view({**_one, "patch": "partial_update"}),
        name="gate",
    ),
    path("publications/", PublicationViewSet.as_view(_many), name="publications"),
    path(
        "publications/<int:publication>/",
        PublicationViewSet.as_view(_one),
        name="publication",
    ),
    path(
        "publications/<int:publication>/cancel/",
        PublicationViewSet.as_view({"post": "cancel"}),
        name="publication-cancel",
    ),
    path(
        "publications/<int:publication>/override/",
        PublicationViewSet.as_view({"post": "override"}),
        name="publication-override",
    ),
    path(
        "experiments/",
        ExperimentViewSet.as_view({**_many, "post": "create"}),
        name="experiments",
    ),
    path(
        "experiments/<int:experiment>/",
        ExperimentViewSet.as_view({**_one, "patch": "partial_update", "delete": "destroy"}),
        name="experiment",
    ),
    *(
        path(
            f"experiments/<int:experiment>/{name}/",
            ExperimentViewSet.as_view({"post": name}),
            name=f"experiment-{name}",
        )
        for name in ("start", "cancel", "end")
    ),
    path("runs/", RunViewSet.as_view({**_many, "post": "create"}), name="runs"),
    path("runs/<int:run>/", RunViewSet.as_view(_one), name="run"),
    path("runs/<int:run>/cancel/", RunViewSet.as_view({"post": "cancel"}), name="run-cancel"),
    path("runs/<int:run>/restart/", RunViewSet.as_view({"post": "restart"}), name="run-restart"),
    path(
        "golden-queries/",
        GoldenQueryViewSet.as_view({**_many, "post": "create"}),
        name="golden-queries",
    ),
    path(
        "golden-queries/<uuid:golden>/",
        GoldenQueryViewSet.as_view({**_one, "patch": "partial_update", "delete": "destroy"}),
        name="golden-query",
    ),
    path(
        "golden-queries/<uuid:golden>/judgements/",
        GoldenQueryViewSet.as_view({"get": "judgements"}),
        name="golden-query-judgements",
    ),
    path(
        "golden-queries/<uuid:golden>/judgements/<uuid:public_id>/",
        GoldenQueryViewSet.as_view({"put": "judge", "delete": "clear"}),
        name="golden-query-judgement",
    ),
    path(
        "judgements/",
        JudgementViewSet.as_view({**_many, "post": "create"}),
        name="judgements",
    ),
    path("judgements/undo/", JudgementViewSet.as_view({"post": "undo"}), name="judgement-undo"),
    path(
        "judgements/agreement/",
        JudgementViewSet.as_view({"get": "agreement"}),
        name="judgement-agreement",
    ),
    path(
        "judgements/export/",
        JudgementViewSet.as_view({"get": "export"}),
        name="judgement-export",
    ),
    path(
        "judgements/import/",
        JudgementViewSet.as_view({"post": "import_file"}),
        name="judgement-import",
    ),
    path("embedding-spaces/", SpaceViewSet.as_view(_many), name="embedding-spaces"),
    path(
        "embedding-spaces/<int:pk>/",
        SpaceViewSet.as_view({**_one, "delete": "destroy"}),
        name="embedding-space",
    ),
    *(
        path(
            f"embedding-spaces/<int:pk>/{name}/",
            SpaceViewSet.as_view({"post": name}),
            name=f"embedding-space-{name}",
        )
        for name in ("backfill", "pause", "activate")
    ),
    path("tuning/preview/", PreviewView.as_view(), name="tuning-preview"),
    path("tuning/what-if/", WhatIfView.as_view(), name="tuning-what-if"),
    path("tuning/candidates/", CandidatesView.as_view(), name="tuning-candidates"),
    path(
        "tuning/optimisations/",
        OptimisationViewSet.as_view({**_many, "post": "create"}),
        name="optimisations",
    ),
    path(
        "tuning/optimisations/<int:optimisation>/",
        OptimisationViewSet.as_view(_one),
        name="optimisation",
    ),
    *(
        path(
            f"tuning/optimisations/<int:optimisation>/{name}/",
            OptimisationViewSet.as_view({"post": name}),
            name=f"optimisation-{name}",
        )
        for name in ("cancel", "draft")
    ),
    path(
        "judgements/synthetic/",
        StartingViewSet.as_view({"post": "make_synthetic", "delete": "remove_synthetic"}),
        name="judgement-synthetic",
    ),
    path(
        "judgements/clicks/",
        StartingViewSet.as_view({"post": "learn", "delete": "take_back"}),
        name="judgement-clicks",
    ),
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
