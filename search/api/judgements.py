"""Judgements over HTTP: made, taken back, compared, as files in and out."""

from __future__ import annotations

from typing import Any, ClassVar

from django.http import HttpResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.generics import get_object_or_404
from rest_framework.parsers import MultiPartParser
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.viewsets import GenericViewSet

from ingestion.api_choices import ChoiceField
from ingestion.api_requests import ActionPermission, actor, asked, posted
from ingestion.models import Document
from ingestion.paging import PageParameters, Pages, Parameters
from search.api.serializers import (
    GoldenQuerySerializer,
    GradeSerializer,
    JudgementSerializer,
    SlugsField,
    shown_queries,
)
from search.tuning.golden import exchange, judging, queries
from search.tuning.golden.formats import FORMATS
from search.tuning.models import Judgement


class NewJudgementSerializer(GradeSerializer):
    """A judgement of a query that need not be a golden query yet."""

    query = serializers.CharField(max_length=500)
    collections = SlugsField(default=list, max_length=50)
    document = serializers.UUIDField()


class UndoneSerializer(serializers.Serializer[Any]):
    """What was taken back; `undone` false: there was nothing."""

    undone = serializers.BooleanField()
    message = serializers.CharField()


class AgreementSerializer(serializers.Serializer[Any]):
    """Where judges differ, the furthest first, and Krippendorff's alpha over all."""

    alpha = serializers.FloatField(allow_null=True)
    queries = GoldenQuerySerializer(many=True)


class ExportParameters(Parameters):
    """The file format."""

    to = ChoiceField(list(FORMATS), default="csv")


class ImportSerializer(serializers.Serializer[Any]):
    """A file of judgements."""

    file = serializers.FileField()
    queries = serializers.FileField(
        required=False, help_text="TREC's topics or BEIR's queries.jsonl, if `file` is no ZIP."
    )
    file_format = ChoiceField(list(FORMATS), default="csv")
    judge = serializers.CharField(
        required=False, default="", max_length=150, help_text="Where the file does not say."
    )


class ImportedSerializer(serializers.Serializer[Any]):
    """What became of a file's lines."""

    judgements = serializers.IntegerField()
    queries = serializers.IntegerField()
    unchanged = serializers.IntegerField()
    problems = serializers.ListField(child=serializers.CharField())


class JudgementViewSet(GenericViewSet[Judgement]):
    """Judgements of documents that you may read."""

    serializer_class = JudgementSerializer
    pagination_class = Pages
    queryset = Judgement.objects.none()
    permission_classes = (ActionPermission,)
    permissions_needed: ClassVar[dict[str, str]] = {
        "list": "tuning.view_judgement",
        "create": "tuning.add_judgement",
        "undo": "tuning.add_judgement",
        "agreement": "tuning.view_judgement",
        "export": "tuning.view_judgement",
        "import_file": "tuning.add_goldenquery",
    }

    @extend_schema(
        operation_id="judgement_list", summary="List judgements", parameters=[PageParameters]
    )
    def list(self, request: Request) -> Response:
        asked(request, PageParameters)
        rows = Judgement.objects.visible_to(request.user).select_related("query")
        page = self.paginate_queryset(rows.order_by("-updated", "-pk"))
        return self.get_paginated_response(JudgementSerializer(page, many=True).data)

    @extend_schema(
        operation_id="judgement_create",
        summary="Judge a document for any query",
        description="The query becomes a golden query if it is none yet.",
        request=NewJudgementSerializer,
        responses=JudgementSerializer,
    )
    def create(self, request: Request) -> Response:
        given = posted(request, NewJudgementSerializer).validated_data
        documents = Document.objects.visible_to(request.user)
        judgement = judging.judge(
            given["query"],
            given["collections"],
            get_object_or_404(documents, public_id=given["document"]),
            given["grade"],
            note=given.get("note"),
            acting_user=actor(request),
        )
        return Response(JudgementSerializer(judgement).data)

    @extend_schema(
        operation_id="judgement_undo",
        summary="Take your last step back",
        request=None,
        responses=UndoneSerializer,
    )
    def undo(self, request: Request) -> Response:
        done = judging.undo(acting_user=actor(request))
        message = done.message if done else "There is nothing to take back."
        return Response({"undone": done is not None, "message": message})

    @extend_schema(
        operation_id="judgement_agreement",
        summary="Where judges differ",
        responses=AgreementSerializer,
    )
    def agreement(self, request: Request) -> Response:
        differing: Any = queries.listed(request.user)
        differing = differing.filter(spread__gt=0).order_by("-spread", "folded")
        return Response(
            {
                "alpha": judging.agreement(request.user),
                "queries": shown_queries(list(differing[:100]), request),
            }
        )

    @extend_schema(
        operation_id="judgement_export",
        summary="Judgements as a file",
        parameters=[ExportParameters],
        responses={(200, "application/octet-stream"): OpenApiTypes.BINARY},
    )
    def export(self, request: Request) -> HttpResponse:
        to = asked(request, ExportParameters).validated_data["to"]
        made = exchange.export(to, viewer=request.user)
        disposition = f'attachment; filename="{made.file_name}"'
        return HttpResponse(
            made.content,
            content_type=made.media_type,
            headers={"Content-Disposition": disposition},
        )

    @extend_schema(
        operation_id="judgement_import",
        summary="Take judgements from a file",
        request={"multipart/form-data": ImportSerializer},
        responses=ImportedSerializer,
    )
    def import_file(self, request: Request) -> Response:
        given = posted(request, ImportSerializer).validated_data
        done = exchange.import_file(
            given["file_format"],
            given["file"].read(),
            queries=given["queries"].read() if "queries" in given else None,
            judge=given["judge"],
            acting_user=actor(request),
        )
        return Response(
            {
                "judgements": done.judgements,
                "queries": done.queries,
                "unchanged": done.unchanged,
                "problems": [str(problem) for problem in done.problems],
            }
        )

    def get_parsers(self) -> Any:
        # Before the action is known: its name stands in the map of the request's address.
        names = getattr(self, "action_map", {}) or {}
        return [MultiPartParser()] if "import_file" in names.values() else super().get_parsers()
