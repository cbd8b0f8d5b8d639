"""A site from an empty database to a search, as a program of tests/postgres/test_optional_parts.py.

It takes its settings from the environment, ingests the notes of standard input and searches them
under the weights of its argument, which become those of the active profile; it prints what happened
as JSON.
"""

from __future__ import annotations

import json
import sys


def main() -> None:
    """Check, migrate, ingest, search, and print the outcome."""
    import django
    from django.conf import settings

    # Addresses of static files without the manifest that `collectstatic` writes.
    plain = {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"}
    settings.STORAGES = {**settings.STORAGES, "staticfiles": plain}
    django.setup()
    from django.core.management import call_command
    from django.test import Client

    call_command("check", fail_level="WARNING", stdout=sys.stderr)
    call_command("migrate", verbosity=0)
    call_command("makemigrations", check=True, verbosity=0)
    from common import parts
    from search.domain import QueryClass, Weights
    from search.engine import configuration
    from search.models import SearchProfile
    from search.signals import registry
    from search.tuning import drafts, publications
    from tests.support.factories import make_collection, make_document

    collection = make_collection("Fresh")
    for text in sys.stdin.read().split("\f"):
        make_document(collection, text, file_name="note.md")
    if shares := json.loads(sys.argv[1]):
        active = SearchProfile.objects.get(state=SearchProfile.State.ACTIVE)
        weights = {each: Weights(**shares) for each in QueryClass}
        edit = drafts.edit(active, {}, weights, acting_user=None)
        publications.publish(edit.profile, acting_user=None, reason="Try it.")
        configuration.bump()
    client = Client(SERVER_NAME="localhost")
    answer = client.get("/api/v1/search/", {"q": "how is the lever balanced", "explain": "true"})
    page = client.get("/", {"q": "how is the lever balanced"})
    outcome = {
        "parts": list(parts.installed()),
        "signals": sorted(part.signal.value for part in registry.installed()),
        "statuses": [answer.status_code, page.status_code],
        "answer": answer.json(),
        "page": page.content.decode(),
    }
    json.dump(outcome, sys.stdout)


if __name__ == "__main__":
    main()
