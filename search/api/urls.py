"""The API: /api/v1/, its schema and its documentation."""

from __future__ import annotations

from typing import Any

from django.urls import URLPattern, URLResolver, include, path, re_path
from drf_spectacular.views import SpectacularAPIView, SpectacularSwaggerView
from rest_framework.viewsets import ViewSetMixin

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
from search.api.golden import GoldenQueryViewSet
from search.api.judgements import JudgementViewSet
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


def at(address: str, name: str, view: type[ViewSetMixin], **actions: Any) -> URLPattern:
    """An address of the API; each of its methods with the action of the view that answers it."""
    return path(address, view.as_view(actions), name=name)


documents = [at("", "documents", DocumentViewSet, get="list", post="create")]
document = [
    at("", "document", DocumentViewSet, get="retrieve", delete="destroy"),
    at("versions/", "document-versions", DocumentViewSet, get="list_versions", post="add_version"),
    at("restore/", "document-restore", DocumentViewSet, post="restore"),
    at(
        "versions/<int:number>/original/",
        "document-version-original",
        VersionViewSet,
        get="original",
    ),
    at(
        "versions/<int:number>/make-current/",
        "document-version-make-current",
        VersionViewSet,
        post="make_current",
    ),
    at("chunks/", "document-chunks", PassageViewSet, get="list"),
    at(
        "chunks/<int:chunk>/edit/", "document-chunk-edit", PassageViewSet, put="edit", delete="undo"
    ),
    at("edits/", "document-edits", EditViewSet, get="list"),
    at("edits/<int:pk>/", "document-edit", EditViewSet, delete="destroy"),
    at("edits/<int:pk>/place/", "document-edit-place", EditViewSet, post="place"),
    at("reprocess/", "document-reprocess", DocumentViewSet, post="reprocess"),
    at("retry/", "document-retry", DocumentViewSet, post="retry"),
    path("sections/<int:chunk>/", SectionView.as_view(), name="document-section"),
]
collections = [
    at("", "collections", CollectionViewSet, get="list"),
    at("<slug:slug>/", "collection", CollectionViewSet, get="retrieve"),
    at("<slug:slug>/export/", "collection-export", CollectionExportViewSet, get="export"),
]
imports = [
    at("", "imports", ImportViewSet, get="list", post="create"),
    at("<int:number>/", "import", ImportViewSet, get="retrieve"),
    at("<int:number>/items/", "import-items", ImportViewSet, get="items"),
    at("<int:number>/cancel/", "import-cancel", ImportViewSet, post="cancel"),
    at("<int:number>/resume/", "import-resume", ImportViewSet, post="resume"),
    at("<int:number>/retry/", "import-retry", ImportViewSet, post="retry"),
]
watched_folders = [
    at("", "watched-folders", WatchedFolderViewSet, get="list"),
    at("<int:number>/", "watched-folder", WatchedFolderViewSet, get="retrieve"),
]
profiles = [
    at("", "profiles", ProfileViewSet, get="list", post="create"),
    # Names may hold a slash (textbook:60/40); they never hold an @.
    at("<path:name>@<int:version>/publish/", "profile-publish", ProfileViewSet, post="publish"),
    at(
        "<path:name>@<int:version>/differences/",
        "profile-differences",
        ProfileViewSet,
        get="differences",
    ),
    at(
        "<path:name>@<int:version>/",
        "profile-version",
        ProfileViewSet,
        get="retrieve",
        patch="partial_update",
        delete="destroy",
    ),
    at("<path:name>/", "profile", ProfileViewSet, get="retrieve"),
]
publications = [
    at("", "publications", PublicationViewSet, get="list"),
    at("<int:publication>/", "publication", PublicationViewSet, get="retrieve"),
    at("<int:publication>/cancel/", "publication-cancel", PublicationViewSet, post="cancel"),
    at("<int:publication>/override/", "publication-override", PublicationViewSet, post="override"),
]
experiments = [
    at("", "experiments", ExperimentViewSet, get="list", post="create"),
    at(
        "<int:experiment>/",
        "experiment",
        ExperimentViewSet,
        get="retrieve",
        patch="partial_update",
        delete="destroy",
    ),
    at("<int:experiment>/start/", "experiment-start", ExperimentViewSet, post="start"),
    at("<int:experiment>/cancel/", "experiment-cancel", ExperimentViewSet, post="cancel"),
    at("<int:experiment>/end/", "experiment-end", ExperimentViewSet, post="end"),
]
runs = [
    at("", "runs", RunViewSet, get="list", post="create"),
    at("<int:run>/", "run", RunViewSet, get="retrieve"),
    at("<int:run>/cancel/", "run-cancel", RunViewSet, post="cancel"),
    at("<int:run>/restart/", "run-restart", RunViewSet, post="restart"),
]
golden_queries = [
    at("", "golden-queries", GoldenQueryViewSet, get="list", post="create"),
    at(
        "<uuid:golden>/",
        "golden-query",
        GoldenQueryViewSet,
        get="retrieve",
        patch="partial_update",
        delete="destroy",
    ),
    at(
        "<uuid:golden>/judgements/", "golden-query-judgements", GoldenQueryViewSet, get="judgements"
    ),
    at(
        "<uuid:golden>/judgements/<uuid:public_id>/",
        "golden-query-judgement",
        GoldenQueryViewSet,
        put="judge",
        delete="clear",
    ),
]
judgements = [
    at("", "judgements", JudgementViewSet, get="list", post="create"),
    at("undo/", "judgement-undo", JudgementViewSet, post="undo"),
    at("agreement/", "judgement-agreement", JudgementViewSet, get="agreement"),
    at("export/", "judgement-export", JudgementViewSet, get="export"),
    at("import/", "judgement-import", JudgementViewSet, post="import_file"),
    at(
        "synthetic/",
        "judgement-synthetic",
        StartingViewSet,
        post="make_synthetic",
        delete="remove_synthetic",
    ),
    at("clicks/", "judgement-clicks", StartingViewSet, post="learn", delete="take_back"),
]
embedding_spaces = [
    at("", "embedding-spaces", SpaceViewSet, get="list"),
    at("<int:pk>/", "embedding-space", SpaceViewSet, get="retrieve", delete="destroy"),
    at("<int:pk>/backfill/", "embedding-space-backfill", SpaceViewSet, post="backfill"),
    at("<int:pk>/pause/", "embedding-space-pause", SpaceViewSet, post="pause"),
    at("<int:pk>/activate/", "embedding-space-activate", SpaceViewSet, post="activate"),
]
tuning = [
    path("preview/", PreviewView.as_view(), name="tuning-preview"),
    path("what-if/", WhatIfView.as_view(), name="tuning-what-if"),
    path("candidates/", CandidatesView.as_view(), name="tuning-candidates"),
    at("optimisations/", "optimisations", OptimisationViewSet, get="list", post="create"),
    at("optimisations/<int:optimisation>/", "optimisation", OptimisationViewSet, get="retrieve"),
    at(
        "optimisations/<int:optimisation>/cancel/",
        "optimisation-cancel",
        OptimisationViewSet,
        post="cancel",
    ),
    at(
        "optimisations/<int:optimisation>/draft/",
        "optimisation-draft",
        OptimisationViewSet,
        post="draft",
    ),
]
auth = [
    at("token/", "tokens", TokenViewSet, get="list", post="create"),
    at("token/<slug:key>/", "token", TokenViewSet, delete="destroy"),
    at("logout/", "logout", TokenViewSet, post="logout"),
    at("logoutall/", "logout-all", TokenViewSet, post="logout_all"),
]

v1: list[URLPattern | URLResolver] = [
    path("search/", SearchView.as_view(), name="search"),
    path(
        "searches/<uuid:search_id>/interactions/",
        InteractionView.as_view(),
        name="search-interactions",
    ),
    path("documents/", include(documents)),
    path("documents/<uuid:public_id>/", include(document)),
    path("collections/", include(collections)),
    path("imports/", include(imports)),
    path("watched-folders/", include(watched_folders)),
    path("profiles/", include(profiles)),
    at("rollback/", "rollback", RollbackViewSet, post="create"),
    at("profile-changes/", "profile-changes", ChangeViewSet, get="list"),
    at("gate/", "gate", GateViewSet, get="retrieve", patch="partial_update"),
    path("publications/", include(publications)),
    path("experiments/", include(experiments)),
    path("runs/", include(runs)),
    path("golden-queries/", include(golden_queries)),
    path("judgements/", include(judgements)),
    path("embedding-spaces/", include(embedding_spaces)),
    path("tuning/", include(tuning)),
    path("auth/", include(auth)),
]

urlpatterns = [
    path("v1/", include(v1)),
    path("schema/", SpectacularAPIView.as_view(), name="schema"),
    path("docs/", SpectacularSwaggerView.as_view(url_name="api:schema"), name="docs"),
    re_path(r"^(?P<rest>.*)$", MissingView.as_view(), name="missing"),
]
