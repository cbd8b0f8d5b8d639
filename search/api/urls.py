"""The API: /api/v1/ with tuning's, its schema and documentation; OpenAI's protocol at /v1/."""

from __future__ import annotations

from django.conf import settings
from django.urls import include, path, re_path, register_converter
from django.urls.converters import StringConverter
from rest_framework.routers import SimpleRouter

from common import parts
from ingestion.api.collections import CollectionViewSet
from ingestion.api.documents import DocumentViewSet, VersionViewSet
from ingestion.api.imports import ImportViewSet, WatchedFolderViewSet
from ingestion.api.passages import EditViewSet, PassageViewSet
from ingestion.api.sync import SourceViewSet, SyncItemViewSet
from ingestion.api.webhooks import WebhookViewSet
from search.api.answers import AnswerViewSet
from search.api.old_addresses import old_addresses
from search.api.openai.chat import ChatCompletionsView
from search.api.openai.models import ModelsView, ModelView
from search.api.openai.protocol import UnknownAddressView
from search.api.threads import ThreadViewSet
from search.api.tokens import MeView, TokenViewSet
from search.api.views import (
    DocumentationView,
    InteractionView,
    NoSuchAddressView,
    RootView,
    SchemaView,
    SearchView,
    SectionViewSet,
    SuggestionsView,
)
from search.tuning.api.curated import (
    ClassRuleViewSet,
    CurationViewSet,
    ScopeProfileViewSet,
    SynonymViewSet,
)
from search.tuning.api.golden import GoldenQueryViewSet, JudgementViewSet
from search.tuning.api.profiles import ProfileViewSet
from search.tuning.api.publishing import ChangeViewSet, PublicationViewSet, RollbackViewSet
from search.tuning.api.runs import RunViewSet


class ProfileConverter(StringConverter):
    """`name` or `name@version`. A name may hold a slash (textbook:60/40), and never an @.

    A version fits Postgres' integer, and a name its text, without the address of an action.
    """

    regex = r"[^@\0]+@[0-9]{1,9}|(?:(?!/differences/\Z)[^@\0])+"


class CuratedConverter(StringConverter):
    """What is done with a document, for a question."""

    regex = "pin|hide"


register_converter(ProfileConverter, "profile")
register_converter(CuratedConverter, "curated")

app_name = "api"
DOCUMENT = "documents/<uuid:public_id>"
SEARCHES = {name: name for name in ("search", "suggestions", "me", "rollback")}
DESCRIBED = {"documentation": "docs", "schema": "schema"}

router = SimpleRouter(use_regex_path=False)
router.register(f"{DOCUMENT}/sections", SectionViewSet, "document-section")
router.register("answers", AnswerViewSet, "answer")
router.register("threads", ThreadViewSet, "thread")
router.register("auth/token", TokenViewSet, "token")

library = SimpleRouter(use_regex_path=False)
library.register("collections", CollectionViewSet, "collection")
library.register("documents", DocumentViewSet, "document")
library.register(f"{DOCUMENT}/versions", VersionViewSet, "document-version")
library.register(f"{DOCUMENT}/chunks", PassageViewSet, "document-chunk")
library.register(f"{DOCUMENT}/edits", EditViewSet, "document-edit")
library.register("imports", ImportViewSet, "import")
library.register("sources", SourceViewSet, "source")
library.register("webhooks", WebhookViewSet, "webhook")
library.register("watched-folders", WatchedFolderViewSet, "watched-folder")

for module in parts.modules_of(settings.SEARCH_PARTS, "urls"):
    for prefix, view, name in getattr(module, "api", ()):
        library.register(prefix, view, name)

tuning = SimpleRouter(use_regex_path=False)
tuning.register("profiles", ProfileViewSet, "profile")
tuning.register("profile-changes", ChangeViewSet, "profile-change")
tuning.register("publications", PublicationViewSet, "publication")
tuning.register("runs", RunViewSet, "run")
tuning.register("golden-queries", GoldenQueryViewSet, "golden-query")
tuning.register("judgements", JudgementViewSet, "judgement")
tuning.register("curation/<curated:kind>", CurationViewSet, "curation")
tuning.register("synonyms", SynonymViewSet, "synonym")
tuning.register("classifier-rules", ClassRuleViewSet, "classifier-rule")
tuning.register("scope-profiles", ScopeProfileViewSet, "scope-profile")

v1 = [
    path("search/", SearchView.as_view(), name="search"),
    path(
        "searches/<uuid:search_id>/interactions/",
        InteractionView.as_view(),
        name="search-interactions",
    ),
    path(
        "sources/<slug:name>/documents/",
        SyncItemViewSet.as_view({"get": "list", "put": "update", "delete": "destroy"}),
        name="source-documents",
    ),
    path("me/", MeView.as_view(), name="me"),
    path("suggestions/", SuggestionsView.as_view(), name="suggestions"),
    *router.urls,
    *library.urls,
    *tuning.urls,
    path("rollback/", RollbackViewSet.as_view({"post": "create"}), name="rollback"),
]
v1 += old_addresses(v1)

lists = {
    prefix: f"{name}-list"
    for each in (router, library, tuning)
    for prefix, _, name in each.registry
    if "<" not in prefix
} | DESCRIBED
urlpatterns = [
    path("", RootView.as_view(api_root_dict={"api": "list", **DESCRIBED})),
    path("v1/", RootView.as_view(api_root_dict={**SEARCHES, **lists}), name="list"),
    path("v1/", include(v1)),
    path("schema/", SchemaView.as_view(), name="schema"),
    path("docs/", DocumentationView.as_view(), name="docs"),
    re_path(r"(?P<rest>[\s\S]*)\Z", NoSuchAddressView.as_view(), name="missing"),
]

# Below /v1/; without a final slash, as OpenAI's.
compatible = [
    path("chat/completions", ChatCompletionsView.as_view(), name="chat"),
    path("models", ModelsView.as_view(), name="models"),
    path("models/<path:model_name>", ModelView.as_view(), name="model"),
    re_path(r"(?P<rest>[\s\S]*)\Z", UnknownAddressView.as_view(), name="missing"),
]
