"""The URLs of tuning's API, below /api/v1/."""

from __future__ import annotations

from django.urls import path, register_converter
from rest_framework.routers import SimpleRouter

from search.tuning.api.curated import (
    ClassRuleViewSet,
    HideViewSet,
    PinViewSet,
    ScopeProfileViewSet,
    SynonymViewSet,
)
from search.tuning.api.golden import GoldenQueryViewSet, JudgementViewSet, OwnJudgementViewSet
from search.tuning.api.profiles import ProfileViewSet
from search.tuning.api.publishing import (
    ChangeViewSet,
    GateViewSet,
    PublicationViewSet,
    RollbackViewSet,
    RunViewSet,
)


class ProfileConverter:
    """`name` or `name@version`. A name may hold a slash (textbook:60/40), and never an @.

    A version fits Postgres' integer, and a name its text.
    """

    regex = r"[^@\0]+@[0-9]{1,9}|[^@\0]+"

    def to_python(self, value: str) -> str:
        return value

    def to_url(self, value: str) -> str:
        return value


register_converter(ProfileConverter, "profile")

router = SimpleRouter(use_regex_path=False)
router.register("profiles", ProfileViewSet, "profile")
router.register("profile-changes", ChangeViewSet, "profile-change")
router.register("publications", PublicationViewSet, "publication")
router.register("runs", RunViewSet, "run")
router.register("golden-queries", GoldenQueryViewSet, "golden-query")
router.register("golden-queries/<uuid:golden>/judgements", OwnJudgementViewSet, "own-judgement")
router.register("judgements", JudgementViewSet, "judgement")
router.register("pins", PinViewSet, "pin")
router.register("hides", HideViewSet, "hide")
router.register("synonyms", SynonymViewSet, "synonym")
router.register("classifier-rules", ClassRuleViewSet, "classifier-rule")
router.register("scope-profiles", ScopeProfileViewSet, "scope-profile")

urlpatterns = [
    *router.urls,
    path("rollback/", RollbackViewSet.as_view({"post": "create"}), name="rollback"),
    path(
        "gate/",
        GateViewSet.as_view({"get": "retrieve"}),
        name="gate",
    ),
]
