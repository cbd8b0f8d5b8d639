"""Search over HTTP."""

from __future__ import annotations

from typing import Any

from django.http import Http404, HttpRequest, HttpResponseBase
from django.shortcuts import redirect
from drf_spectacular.utils import extend_schema
from rest_framework.permissions import AllowAny
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from common.api.requests import read_query
from search import pipeline
from search.analytics.models import SearchEvent
from search.analytics.recording import new_search_id, record_search
from search.api.examples import SEARCH_EXAMPLES
from search.api.legacy import wants_legacy
from search.api.parameters import SearchParameters
from search.api.serializers.searches import SearchResponseSerializer
from search.tuning.experiments.participation import participant


class SearchView(APIView):
    """The passages that answer a question, best first."""

    permission_classes = (AllowAny,)
    error_statuses = (503,)

    @extend_schema(
        operation_id="search",
        parameters=[SearchParameters],
        responses=SearchResponseSerializer,
        examples=SEARCH_EXAMPLES,
    )
    def get(self, request: Request) -> Response:
        """Search.

        What you may read, ranked under the active profile's weights for the query's class. The
        answer names all of them, and each result's share by signal.
        """
        parameters = read_query(request, SearchParameters)
        given = parameters.validated_data
        found = pipeline.search(
            given["q"],
            viewer=request.user,
            filters=parameters.filters,
            choices=parameters.choices,
            group=given["group"],
            page=given["page"],
            page_size=given["page_size"],
            takes_part=participant(request),
        )
        search_id = new_search_id(request, found)
        context = {
            "request": request,
            "explain": given["explain"],
            "legacy": wants_legacy(given.get("legacy", ""), found.profile.name),
            "search_id": search_id,
            "teams": dict(zip(map(id, found.results), found.teams, strict=bool(found.teams))),
        }
        answer = SearchResponseSerializer(found, context=context).data
        record_search(
            request,
            found,
            search_id,
            channel=SearchEvent.Channel.API,
            collections=parameters.filters.collections,
        )
        return Response(answer)


class MissingView(APIView):
    """404 in the API's shape for an address that leads nowhere; a forgotten slash is forgiven."""

    permission_classes = (AllowAny,)
    schema = None

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        # This view matches every address, so Django's own redirect never happens.
        if request.method in {"GET", "HEAD"} and not request.path.endswith("/"):
            return redirect(request.get_full_path(force_append_slash=True), permanent=True)
        return super().dispatch(request, *args, **kwargs)

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        super().initial(request, *args, **kwargs)
        raise Http404
