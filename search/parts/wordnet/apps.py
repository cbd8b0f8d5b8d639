"""The part as a Django app."""

from django.apps import AppConfig


class WordNetPart(AppConfig):
    name = "search.parts.wordnet"

    def ready(self) -> None:
        from search.engine import adjust_weights
        from search.parts.wordnet.signal import WordNetSignal, widen
        from search.signals import registry

        registry.register(WordNetSignal())
        adjust_weights.register(widen, before=adjust_weights.mark_foreign)
