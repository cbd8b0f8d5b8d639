"""The addresses of concepts: their page, their list in the API, and a filter of documents."""

from django.urls import path

from search.parts.concepts.api import ConceptViewSet
from search.parts.concepts.pages import concepts

urlpatterns = [path("concepts/", concepts, name="concepts")]
api = [("concepts", ConceptViewSet, "concept")]
