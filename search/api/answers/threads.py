"""Threads: the conversations of signed-in users."""

from __future__ import annotations

from typing import Any

from django.db.models import QuerySet
from django.http import HttpResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework import status
from rest_framework.decorators import action
from rest_framework.generics import get_object_or_404
from rest_framework.permissions import IsAuthenticated
from rest_framework.request import Request
from rest_framework.response import Response

from common.accounts.models import Scope
from common.api.access import require_scope
from common.api.requests import actor, location
from common.api.viewsets import ReadViewSet
from search.answers import recording, threads
from search.answers.models import Thread
from search.api.answers.serializers import ThreadSerializer, ThreadWithAnswersSerializer, stored
from search.api.answers.views import AnyNegotiation

MARKDOWN = "text/markdown"


class ThreadViewSet(ReadViewSet[Thread]):
    """Your conversations, and those that others share. Nobody else reads yours, staff included."""

    serializer_class = ThreadSerializer
    content_negotiation_class = AnyNegotiation
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

    @extend_schema(responses=ThreadWithAnswersSerializer)
    def retrieve(self, request: Request, thread_id: str) -> Response:
        """Show a thread with its answers.

        An answer one of whose sources you may not read is `withheld`.
        """
        thread = self.get_object()
        rows = recording.with_sources(request.user).filter(thread=thread).order_by("at", "pk")
        shown: dict[str, Any] = dict(self.get_serializer(thread).data)
        return Response({**shown, "answers": stored(list(rows), request)})

    def create(self, request: Request) -> Response:
        """Start a thread. Name it in the questions that belong to it."""
        form = self._form(request)
        if form.validated_data.get("shared"):
            require_scope(request, Scope.ADMINISTER)
        thread = threads.start(actor(request), form.validated_data["title"])
        if form.validated_data.get("shared"):
            threads.share(thread, True, acting_user=request.user)
        headers = location(request, "thread-detail", thread.public_id)
        return self.shown(thread, status.HTTP_201_CREATED, headers)

    def partial_update(self, request: Request, thread_id: str) -> Response:
        """Rename your thread, or share it.

        A shared thread is readable to signed-in users who have its address; each of them sees only
        answers whose sources they may read.
        """
        thread = self.get_object()
        given = self._form(request, partial=True).validated_data
        if "title" in given:
            threads.rename(thread, given["title"], acting_user=request.user)
        if "shared" in given:
            threads.share(thread, given["shared"], acting_user=request.user)
        thread.refresh_from_db()
        return self.shown(thread)

    def destroy(self, request: Request, thread_id: str) -> Response:
        """Delete your thread and its answers."""
        threads.delete(self.get_object(), acting_user=request.user)
        return Response(status=status.HTTP_204_NO_CONTENT)

    # A leaked token that may only read must neither show a conversation to others nor delete it.
    partial_update.needs_scope = destroy.needs_scope = Scope.ADMINISTER  # type: ignore[attr-defined]

    @extend_schema(
        responses={(200, MARKDOWN): OpenApiResponse(OpenApiTypes.STR, "The thread as Markdown.")}
    )
    @action(detail=True, methods=["get"])
    def export(self, request: Request, thread_id: str) -> HttpResponse:
        """Export a thread as Markdown, with links to the sources."""
        thread = get_object_or_404(self.get_queryset(), public_id=thread_id)
        text = threads.export(thread, request.user, base=request.build_absolute_uri("/"))
        name = f"thread-{thread.public_id}.md"
        return HttpResponse(
            text,
            content_type=f"{MARKDOWN}; charset=utf-8",
            headers={"Content-Disposition": f'attachment; filename="{name}"'},
        )

    def _form(self, request: Request, *, partial: bool = False) -> Any:
        form = self.get_serializer(data=request.data, partial=partial)
        form.is_valid(raise_exception=True)
        return form
