"""The part as a Django app."""

from django.apps import AppConfig


class BrevityPart(AppConfig):
    name = "steelyard_brevity"

    def ready(self) -> None:
        from search.signals import registry
        from steelyard_brevity.signal import BrevitySignal

        registry.register(BrevitySignal())
