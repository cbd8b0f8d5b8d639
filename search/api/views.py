"""Search and profiles over HTTP."""

from __future__ import annotations

from typing import Any

from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponseBase
from django.shortcuts import redirect
from drf_spectacular.utils import extend_schema
from rest_framework import mixins
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView
from rest_framework.viewsets import GenericViewSet

from ingestion.paging import PageParameters, Pages
from search import pipeline
from search.api.examples import SEARCH_EXAMPLES
from search.api.legacy import wants_legacy
from search.api.parameters import SearchParameters
from search.api.serializers import ProfileSerializer, SearchResponseSerializer
from search.models import SearchProfile


class SearchView(APIView):
    """The passages that answer a question, best first."""

    @extend_schema(
        operation_id="search",
        summary="Search",
        description="What you may read, ranked under the active profile's weights for the "
        "query's class. The answer names all of them, and each result's share by signal.",
        parameters=[SearchParameters],
        responses=SearchResponseSerializer,
        examples=SEARCH_EXAMPLES,
    )
    def get(self, request: Request) -> Response:
        parameters = SearchParameters(data=request.query_params)
        parameters.is_valid(raise_exception=True)
        given = parameters.validated_data
        found = pipeline.search(
            given["q"],
            viewer=request.user,
            filters=parameters.filters,
            choices=parameters.choices,
            group=given["group"],
            page=given["page"],
            page_size=given["page_size"],
        )
        context = {
            "request": request,
            "explain": given["explain"],
            "legacy": wants_legacy(given.get("legacy", ""), found.profile.name),
        }
        return Response(SearchResponseSerializer(found, context=context).data)


class ProfileViewSet(
    mixins.ListModelMixin, mixins.RetrieveModelMixin, GenericViewSet[SearchProfile]
):
    """The published profiles. Staff who may see profiles in the admin see drafts as well."""

    serializer_class = ProfileSerializer
    pagination_class = Pages
    queryset = SearchProfile.objects.none()

    def get_queryset(self) -> QuerySet[SearchProfile]:
        profiles = SearchProfile.objects.prefetch_related("class_weights")
        user = self.request.user
        if user.is_authenticated and user.is_staff and user.has_perm("search.view_searchprofile"):
            return profiles
        return profiles.exclude(state=SearchProfile.State.DRAFT)

    def get_object(self) -> SearchProfile:
        found = self.get_queryset().filter(name=self.kwargs["name"])
        if "version" in self.kwargs:
            found = found.filter(version=self.kwargs["version"])
        else:
            found = found.exclude(state=SearchProfile.State.DRAFT)
        profile = found.order_by("-version").first()
        if profile is None:
            raise Http404
        return profile

    @extend_schema(
        summary="List profiles",
        description="Published profiles, by name and version. Any of them can be asked for in "
        "a search as `profile=name` or `profile=name@version`.",
        parameters=[PageParameters],
    )
    def list(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        PageParameters(data=request.query_params).is_valid(raise_exception=True)
        return super().list(request, *args, **kwargs)

    @extend_schema(
        summary="Show a profile", description="Without a version: the newest published one."
    )
    def retrieve(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        return super().retrieve(request, *args, **kwargs)


class MissingView(APIView):
    """404 in the API's shape for an address that leads nowhere; a forgotten slash is forgiven."""

    schema = None

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        # This view matches every address, so Django's own redirect never happens.
        if request.method in {"GET", "HEAD"} and not request.path.endswith("/"):
            return redirect(request.get_full_path(force_append_slash=True), permanent=True)
        return super().dispatch(request, *args, **kwargs)

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        super().initial(request, *args, **kwargs)
        raise Http404
