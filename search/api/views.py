"""Search over HTTP, interactions with its results, and the section around a passage."""

from __future__ import annotations

from functools import cache
from threading import Lock
from types import MappingProxyType
from typing import Any
from uuid import UUID

from django.http import Http404, HttpRequest, HttpResponseBase
from django.shortcuts import redirect
from django.urls import resolve
from django.utils import translation
from drf_spectacular.generators import SchemaGenerator
from drf_spectacular.utils import OpenApiResponse, extend_schema
from drf_spectacular.views import SpectacularAPIView, SpectacularSwaggerView
from rest_framework import serializers, status
from rest_framework.exceptions import APIException
from rest_framework.generics import get_object_or_404
from rest_framework.permissions import AllowAny
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.routers import APIRootView
from rest_framework.views import APIView

from common.accounts import quotas
from common.api.access import OPEN
from common.api.requests import Rank, actor, read_body, read_query
from common.api.serializers import BooleanField, ChoiceField, Parameters
from common.api.views import StrictView, reads
from common.api.viewsets import ApiViewSet, repeatable
from ingestion.api.serializers import CollectionField
from ingestion.models import Document
from search import pipeline
from search.analytics.interactions import MAX_SECONDS, Report, record_interaction
from search.analytics.models import Interaction, SearchEvent
from search.analytics.pseudonyms import recorded_visitor
from search.analytics.recording import new_search_id, record_search
from search.api.parameters import SearchBody, SearchParameters
from search.api.responses import SearchResponseSerializer
from search.api.results import SectionSerializer, wants_legacy
from search.errors import UnknownSearch
from search.presentation.document_text import section_around
from search.presentation.rectangles import rectangles_of
from search.readers.suggestions import Suggested, Suggestion, SuggestionsThrottle, suggest


class SectionViewSet(ApiViewSet[Document]):
    """The section around one passage of a document."""

    serializer_class = SectionSerializer
    permission = OPEN
    lookup_url_kwarg = "chunk"
    queryset = Document.objects.none()

    def retrieve(self, request: Request, public_id: UUID, chunk: int) -> Response:
        """Show the section around a passage.

        Small passages are found; what surrounds them is read. The section is the run of neighbours
        under the same heading, or under the one above where that says too little, of at most
        `SECTION_TOKENS` tokens. A search result names its document and `chunk`.
        """
        documents = Document.objects.visible_to(request.user).select_related("current")
        documents = documents.defer("title_terms", "current__text")
        document = get_object_or_404(documents, public_id=public_id)
        around = section_around(document, chunk, viewer=request.user)
        if around is None:
            raise Http404
        names = ("requested", "section", "page", "text")
        values = {name: getattr(around, name) for name in names}
        return Response(SectionSerializer({**values, "document": document}).data)


class SearchView(StrictView):
    """Passages that match a question, best first."""

    permission_classes = (AllowAny,)
    needs_scope = "read"  # also by POST
    rank, is_search = Rank.SEARCH, True
    is_repeatable = False
    error_statuses = (503,)

    @extend_schema(
        operation_id="search_long", request=SearchBody, responses=SearchResponseSerializer
    )
    def post(self, request: Request) -> Response:
        """Search, with the parameters in the body.

        The same as GET, for questions too long for an address: servers and proxies refuse
        addresses of about 8,000 bytes, which 900 Chinese characters fill. Saves nothing.
        """
        return self._answer(request, read_body(request, SearchBody))

    @reads(SearchParameters)
    @extend_schema(operation_id="search", responses=SearchResponseSerializer)
    def get(self, request: Request) -> Response:
        """Search.

        What you may read, ranked under the active profile's weights for the query's class. The
        answer names all of them, and each result's share by signal.
        """
        return self._answer(request, self.parameters)

    def _answer(self, request: Request, parameters: SearchParameters) -> Response:
        data = parameters.validated_data
        quotas.spend(request.user, quotas.SEARCHES)
        response = pipeline.search(
            data["query"],
            viewer=request.user,
            filters=parameters.filters,
            choices=parameters.choices,
            group=data["group"],
            page=data["page"],
            page_size=data["page_size"],
            visitor=recorded_visitor(request),
            mark_folded=True,
        )
        spans = {result.hit.chunk_id: ((result.hit.chunk_id,), "") for result in response.results}
        rectangles = rectangles_of(spans, viewer=request.user) if data["rectangles"] else None
        search_id = new_search_id(request, response)
        context = {
            "request": request,
            "explain": data["explain"],
            "legacy": wants_legacy(data.get("legacy", ""), response.profile.name),
            "search_id": search_id,
            "rectangles": rectangles,
            "times": bool(getattr(request.user, "is_staff", False)),
        }
        # The serializer refers to itself, and a response and its request to each other, until the
        # garbage collector comes: neither keeps what was found.
        shown = response.abstaining(data.get("abstain_below"))
        answer = SearchResponseSerializer(context=context).to_representation(shown)
        record_search(
            request,
            response,
            search_id,
            channel=SearchEvent.Channel.API,
            collections=parameters.filters.collections,
        )
        return Response(answer)


class SuggestionParameters(Parameters):
    """What was typed so far, and where to look."""

    old_names = MappingProxyType({"q": "query"})

    query = serializers.CharField(
        trim_whitespace=False, help_text="Two characters or more; of more than 200, nothing."
    )
    collection = repeatable(CollectionField(), "Only of these, by their slugs.")
    needs_request = True


class SuggestionSerializer(serializers.Serializer[Suggestion]):
    """A text to search for in place of the typed one."""

    kind = serializers.ChoiceField(choices=[kind.value for kind in Suggested])
    text = serializers.CharField()


class SuggestionsSerializer(serializers.Serializer[Any]):
    """Suggestions by kind."""

    suggestions = SuggestionSerializer(many=True)


class SuggestionsView(StrictView):
    """Suggestions while typing."""

    permission_classes = (AllowAny,)
    throttle_classes = (SuggestionsThrottle,)
    rank = Rank.AGENT

    @reads(SuggestionParameters)
    @extend_schema(operation_id="suggestions", responses=SuggestionsSerializer)
    def get(self, request: Request) -> Response:
        """Suggest what to search for.

        At most eight titles, headings and identifiers of documents that you may read, and with a
        session your own searches, that have what was typed: its words, the last one the beginning
        of a word. Has a rate limit of its own, and is not counted as a search.
        """
        data = self.parameters.validated_data
        reader = actor(request) if request.user.is_authenticated and not request.auth else None
        collections = [each.slug for each in data.get("collection", ())]
        suggestions = suggest(data["query"], request.user, collections, reader=reader)
        return Response(SuggestionsSerializer({"suggestions": suggestions}).data)


class DocumentationView(SpectacularSwaggerView):
    """The documentation: every operation with a form to try it."""

    template_name = "search/api_docs.html"
    url_name = "api:schema"


class SchemaOnce(SchemaGenerator):
    """Makes the OpenAPI schema once in a process: it is the same for every reader and language."""

    def get_schema(self, *_: Any, **__: Any) -> Any:
        with _making:  # the views' inspectors are shared: two threads would mix their operations
            return _schema()


_making = Lock()


@cache
def _schema() -> Any:
    with translation.override("en"):
        return SchemaGenerator().get_schema(None, public=True)  # type: ignore[no-untyped-call]


class SchemaParameters(Parameters):
    """The format of the schema, where a header `Accept` cannot be sent."""

    format = ChoiceField(["json", "yaml"], required=False)


class SchemaView(StrictView, SpectacularAPIView):
    """The OpenAPI schema."""

    generator_class = SchemaOnce
    schema = None

    def get_format_suffix(self, **arguments: Any) -> str | None:
        """The format of the address: read before `Accept` is."""
        chosen: str | None = read_query(self.request, SchemaParameters).validated_data.get("format")
        return chosen

    @reads(SchemaParameters)
    def get(self, *args: Any, **kwargs: Any) -> Any:
        return super().get(*args, **kwargs)  # type: ignore[no-untyped-call]


class RootView(StrictView, APIRootView):
    """Links to what there is."""

    permission_classes = (AllowAny,)


class NoSuchAddressView(APIView):
    """A 404 in the API's format for an unknown address; a missing final slash is added."""

    permission_classes = (AllowAny,)
    schema = None

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        # This view matches every address, so Django's own redirect never happens.
        if request.method in {"GET", "HEAD"} and not request.path.endswith("/"):
            return redirect(request.get_full_path(force_append_slash=True), permanent=True)
        return super().dispatch(request, *args, **kwargs)

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        super().initial(request, *args, **kwargs)
        address = f"{request.path_info}/"
        if resolve(address).url_name != "missing":
            missing = APIException(f"The address ends with a slash: {address}", "not_found")
            missing.status_code = status.HTTP_404_NOT_FOUND
            raise missing
        raise Http404


class InteractionSerializer(Parameters):
    """An interaction with a result, or feedback on the search (`solved`, `unsolved`)."""

    kind = ChoiceField(
        choices=Interaction.Kind.choices,
        help_text="`click`, `dwell` (with `seconds`), `up` and `down` name a document; `solved` "
        "and `unsolved` say whether the search answered the question.",
    )
    document = serializers.UUIDField(
        required=False, allow_null=True, help_text="One of the documents found, by its id."
    )
    seconds = serializers.FloatField(
        required=False,
        allow_null=True,
        min_value=0,
        max_value=86_400,
        help_text=f"For `dwell`: how long it was read; counted up to {MAX_SECONDS:g}.",
    )
    undo = BooleanField(default=False, help_text="Takes a thumb or an answer back instead.")

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if (attrs["kind"] == Interaction.Kind.DWELL) != (attrs.get("seconds") is not None):
            text = "Required with `dwell`, and only allowed with it."
            raise serializers.ValidationError({"seconds": [text]})
        return attrs


class InteractionView(StrictView):
    """Interactions with the results of a search."""

    permission_classes = (AllowAny,)
    rank = Rank.SEARCH
    needs_scope = "read"

    @extend_schema(
        operation_id="search_interaction",
        request=InteractionSerializer,
        responses={204: OpenApiResponse(description="It is noted.")},
    )
    def post(self, request: Request, search_id: UUID) -> Response:
        """Report a click, reading time, a thumb or an answer.

        For the search that `search_id` named in its answer, within a day, and only by who
        searched: the same user, or without one the same address and program. Reporting the same
        again changes nothing; a thumb down takes a thumb up back, and the other way round.
        """
        report = Report.of(read_body(request, InteractionSerializer).validated_data)
        try:
            record_interaction(request, search_id, report)
        except UnknownSearch as error:
            raise Http404 from error
        return Response(status=status.HTTP_204_NO_CONTENT)
