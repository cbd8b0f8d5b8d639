"""A row of every kind that the API names in an address, and the addresses' parameters for it."""

from __future__ import annotations

import copy
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from unittest import mock

from knox.models import AuthToken
from rest_framework.test import APIClient

from common.accounts.models import User
from common.api.access import TokenAuthentication
from ingestion import services
from ingestion.models import Chunk, Import, ImportItem, SyncItem, SyncSource, WatchedFolder
from ingestion.webhooks.models import Event, Webhook
from search.models import SearchProfile
from search.parts.experiments.models import Experiment
from search.tuning.evaluation import golden_runs
from search.tuning.models import GoldenQuery, Judgement
from tests.support.factories import make_collection, make_document
from tests.support.golden_library import TEXTS, active_profile, draft_with, judge_all

V1 = "/api/v1"
# The tags of addresses that keep other conventions than ours: OpenAI's clients send what a site
# cannot do, always, so that nothing is refused there, and errors have the protocols' own shapes.
OTHER_PROTOCOLS = frozenset({"openai", "oauth"})


@dataclass(frozen=True)
class Rows:
    """The stored rows. `values` has, by the part of an address before a parameter, those that
    exist; `token` signs a superuser in.
    """

    token: str
    values: dict[str, list[Any]]

    def of(self, path: str) -> dict[str, list[Any]]:
        """The values of each parameter of a path of the schema."""
        named = re.findall(r"(?=/([\w{}-]+)/\{(\w+)\})", path)
        return {name: self.values[before] for before, name in named}


def own_operations(schema: dict[str, Any]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """The path, the method and the description of each operation with our conventions."""
    for path, methods in schema["paths"].items():
        for method, operation in methods.items():
            if not OTHER_PROTOCOLS & set(operation["tags"]):
                yield path, method, operation


@contextmanager
def cached_tokens() -> Iterator[None]:
    """Within the block a token and its user are read once; a request gets a copy of the user.

    Reading them took a third of the requests that are refused. What becomes of a token that is
    unknown, has ended or lacks a scope is the subject of test_token_scopes.py.
    """
    read, known = TokenAuthentication.identify, {}

    def identify(self: TokenAuthentication, value: bytes, url: str) -> Any:
        if value not in known:
            known[value] = read(self, value, url)
        user, token = known[value]
        return copy.copy(user), token

    with mock.patch.object(TokenAuthentication, "identify", identify):
        yield


@contextmanager
def rows_of_every_kind() -> Iterator[Rows]:
    """Create the rows; the caller's transaction ends them."""
    user = User.objects.create_superuser("fuzzer", "fuzzer@example.org", "pw-fuzzer")
    _, token = AuthToken.objects.create(user=user)
    api = APIClient()
    api.force_authenticate(user)

    def post(address: str, **fields: Any) -> Any:
        response = api.post(f"{V1}/{address}/", fields, format="json")
        assert response.status_code < 300, (address, response.content)
        return response.json()

    shelf = make_collection("Harbour")
    made = {
        name: make_document(shelf, text, file_name=f"{name}.md") for name, text in TEXTS.items()
    }
    failed = make_document(shelf, b"%PDF-1.4 torn", file_name="torn.pdf")
    binned = make_document(shelf, "# Gone\n\nNobody reads it.\n", file_name="gone.md")
    services.delete([binned], acting_user=user)
    chunk = Chunk.objects.select_related("edit").get(document=made["bread"], ordinal=0)
    services.edit_chunk(chunk, services.Wish(text="Yeast makes dough rise."), acting_user=user)
    judge_all(made, user)
    run = Import.objects.create(
        collection=shelf, kind=Import.Kind.ARCHIVE, origin="old.zip", state=Import.State.FAILED
    )
    ImportItem.objects.create(
        of=run, reference="a.md", state=ImportItem.State.ADDED, document=made["inn"]
    )
    ImportItem.objects.create(of=run, reference="b.bin", state=ImportItem.State.FAILED)
    folder = WatchedFolder.objects.create(collection=shelf, path="/srv/watched")
    webhook = Webhook.objects.create(
        name="Wiki", url="https://example.org/hook", events=[Event.READY], acts_for=user
    )
    source = SyncSource.objects.create(owner=user, name="wiki", collection=shelf)
    SyncItem.objects.create(source=source, external_id="a", etag="1", document=made["inn"])
    draft = draft_with(depth=60)
    other = SearchProfile.objects.get(name="keyword-only")
    golden_runs.measure(golden_runs.start(active_profile(), acting_user=user).pk)
    document = str(made["ferry"].public_id)
    thread = post("threads", title="Ferries")["id"]
    answer = post("answers", q="how often does the ferry cross the river", thread=thread)
    pin = post("curation/pin", query="boats", document=document, position=1)["id"]
    values: dict[str, list[Any]] = {
        "answers": [answer["id"]],
        "threads": [thread],
        "token": [AuthToken.objects.get(user=user).token_key],
        "classifier-rules": [api.get(f"{V1}/classifier-rules/").json()["results"][0]["id"]],
        "collections": [shelf.slug],
        "models": ["steelyard", f"steelyard/{shelf.slug}"],
        "documents": [document, *(str(each.public_id) for each in (made["bread"], failed, binned))],
        "chunks": [0],
        "edits": [
            api.get(f"{V1}/documents/{made['bread'].public_id}/edits/").json()["results"][0]["id"]
        ],
        "sections": [0],
        "versions": [1],
        "experiments": [
            Experiment.objects.create(name="Old or new", a=active_profile(), b=other).pk
        ],
        "golden-queries": [
            str(each) for each in GoldenQuery.objects.values_list("public_id", flat=True)[:2]
        ],
        "judgements": [Judgement.objects.filter(judge=user).latest("pk").pk],
        "imports": [run.pk],
        "curation": ["pin", "hide"],
        "{kind}": [pin],
        "pins": [pin],
        "hides": [post("curation/hide", query="holidays", document=document)["id"]],
        "profiles": ["default@5", f"{draft.name}@{draft.version}", "default"],
        "publications": [_refused(post, api, draft)],
        "runs": [post("runs", profile="keyword-only")["id"], 1],
        "scope-profiles": [post("scope-profiles", collection=shelf.slug, profile="default")["id"]],
        "searches": [post("search", q="ferry")["search_id"]],
        "sources": [source.name],
        "synonyms": [post("synonyms", terms=["ferry", "boat"])["id"]],
        "watched-folders": [folder.pk],
        "webhooks": [webhook.pk],
    }
    yield Rows(token, values)


def _refused(post: Any, api: APIClient, draft: SearchProfile) -> int:
    api.post(f"{V1}/publications/", {"profile": f"{draft.name}@{draft.version}"}, format="json")
    listed = api.get(f"{V1}/publications/").json()["results"]
    return int(listed[0]["id"])
