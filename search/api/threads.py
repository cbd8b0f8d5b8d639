"""Threads in the API: the conversations of signed-in users."""

from __future__ import annotations

from typing import Any

from django.db.models import QuerySet
from django.http import HttpResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiResponse, extend_schema, extend_schema_field
from rest_framework import serializers, status
from rest_framework.decorators import action
from rest_framework.permissions import IsAuthenticated
from rest_framework.request import Request
from rest_framework.response import Response

from common.accounts.models import Scope
from common.api.access import require_scope
from common.api.requests import actor, read_body
from common.api.serializers import Strict
from common.api.views import AnyNegotiation
from common.api.viewsets import ReadViewSet
from search.answers import recording, threads
from search.answers.models import Thread
from search.api.answer_forms import StoredAnswerSerializer, stored

MARKDOWN = "text/markdown"


class ThreadSerializer(Strict, serializers.ModelSerializer[Thread]):
    """A conversation."""

    id = serializers.UUIDField(source="public_id", read_only=True)
    own = serializers.SerializerMethodField(help_text="Whether it is yours.")

    class Meta:
        model = Thread
        fields: tuple[str, ...] = ("id", "title", "shared", "own", "created", "updated")
        read_only_fields = ("created", "updated")

    def get_own(self, thread: Thread) -> bool:
        return bool(thread.user_id == self.context["request"].user.pk)


class ThreadWithAnswersSerializer(ThreadSerializer):
    """A conversation with its answers, the oldest first.

    An answer one of whose sources you may not read is `withheld`.
    """

    answers = serializers.SerializerMethodField()

    @extend_schema_field(StoredAnswerSerializer(many=True))
    def get_answers(self, thread: Thread) -> list[dict[str, Any]]:
        request = self.context["request"]
        rows = recording.with_sources(request.user).filter(thread=thread).order_by("at", "pk")
        return stored(list(rows), request)

    class Meta(ThreadSerializer.Meta):
        fields = (*ThreadSerializer.Meta.fields, "answers")


class ThreadViewSet(ReadViewSet[Thread]):
    """Your conversations, and those that others share. Nobody else reads yours, staff included."""

    serializer_class = ThreadSerializer
    permission_classes = [IsAuthenticated]
    needs_scope = "read"
    lookup_field = "public_id"
    lookup_url_kwarg = "thread_id"
    lookup_value_converter = "uuid"
    queryset = Thread.objects.none()

    def get_queryset(self) -> QuerySet[Thread]:
        """The user's own threads; to read one by its id, also one that is shared."""
        if self.action in ("retrieve", "export"):
            return Thread.objects.visible_to(self.request.user)
        return Thread.objects.owned_by(self.request.user)

    def list(self, request: Request) -> Response:
        """List your threads, the last used first."""
        return super().list(request)

    def get_serializer_class(self) -> Any:
        return ThreadWithAnswersSerializer if self.action == "retrieve" else ThreadSerializer

    def create(self, request: Request) -> Response:
        """Start a thread. Name it in the questions that belong to it."""
        data = read_body(request, ThreadSerializer).validated_data
        if data.get("shared"):
            require_scope(request, Scope.ADMINISTER)
        thread = threads.start(actor(request), data["title"])
        if data.get("shared"):
            threads.share(thread, acting_user=request.user)
        return self.respond(thread, status.HTTP_201_CREATED)

    def partial_update(self, request: Request, thread_id: str) -> Response:
        """Rename your thread, or share it.

        A shared thread is readable to signed-in users who have its address; each of them sees only
        answers whose sources they may read.
        """
        thread = self.get_object()
        data = read_body(request, ThreadSerializer, partial=True).validated_data
        if "title" in data:
            threads.rename(thread, data["title"], acting_user=request.user)
        if "shared" in data:
            threads.share(thread, data["shared"], acting_user=request.user)
        thread.refresh_from_db()
        return self.respond(thread)

    def destroy(self, request: Request, thread_id: str) -> Response:
        """Delete your thread and its answers."""
        threads.delete(self.get_object(), acting_user=request.user)
        return Response(status=status.HTTP_204_NO_CONTENT)

    # A leaked token that may only read must neither show a conversation to others nor delete it.
    partial_update.needs_scope = destroy.needs_scope = Scope.ADMINISTER  # type: ignore[attr-defined]

    @extend_schema(
        responses={(200, MARKDOWN): OpenApiResponse(OpenApiTypes.STR, "The thread as Markdown.")}
    )
    @action(detail=True, methods=["get"], content_negotiation_class=AnyNegotiation)
    def export(self, request: Request, thread_id: str) -> HttpResponse:
        """Export a thread as Markdown, with links to the sources."""
        thread = self.get_object()
        text = threads.export(thread, request.user, base=request.build_absolute_uri("/"))
        name = f"thread-{thread.public_id}.md"
        return HttpResponse(
            text,
            content_type=f"{MARKDOWN}; charset=utf-8",
            headers={"Content-Disposition": f'attachment; filename="{name}"'},
        )
