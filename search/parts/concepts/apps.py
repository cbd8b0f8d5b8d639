"""The part as a Django app."""

from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class ConceptsPart(AppConfig):
    name = "search.parts.concepts"
    verbose_name = _("Concepts")

    def ready(self) -> None:
        from ingestion.documents import extractions
        from search.parts.concepts import extraction
        from search.parts.concepts.facet import ConceptFacet
        from search.parts.concepts.signal import ConceptSignal
        from search.retrieval import facets
        from search.signals import registry

        extractions.register(extraction)
        registry.register(ConceptSignal())
        facets.register(ConceptFacet())
