"""Nobody finds a trace of a document that they may not read, at any address of the project.

Each viewer walks every address twice: before a hidden document X exists, and after. What they
see must be the same, byte for byte, and an address that names X must answer like one that names
nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from typing import Any
from urllib.parse import quote, urlencode

import pytest
from django.contrib.admin import site
from django.contrib.auth.models import Group, Permission
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client, RequestFactory
from knox.models import AuthToken

from common.accounts.models import User
from ingestion import services
from ingestion.documents.restricted_readers import Readers
from ingestion.models import Collection, Document, State, Visibility
from tests.support.database import lasting
from tests.support.factories import make_collection, make_document
from tests.support.url_walker import (
    MISSING,
    Answer,
    Route,
    Subject,
    addresses,
    answer,
    cached_viewers,
    names_subject,
    recorded_parameters,
    routes,
    without_template_contexts,
)

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("clean_cache", "unrecorded")]

TITLE = "Piratenschatz"
HEADING = "Versteck"
HTML = f"""<html><head><title>{TITLE}</title></head><body><h1>{TITLE}</h1><h2>{HEADING}</h2>
<p>Freibeuter vergruben ihre Goldtruhe unter der Lagune, wie die Karte PII-2031-7788 es zeigt.
Niemand ausser dem Kapitän wusste, wo der Schlüssel zu dieser Truhe aufbewahrt wurde.</p>
<p>Buccaneers concealed jewels and doubloons beneath a tropical island.</p>
</body></html>"""
FILE_NAME = "schatzkarte.html"
COLLECTION = "Kapitaenskajuete"
FAILED_NAME = "logbuch.pdf"
# Not "7788" alone: a microsecond of any row's date may hold it.
TRACES = (
    TITLE, HEADING, "Freibeuter", "Goldtruhe", "Lagune", "Kapitän", "2031-7788", "20317788",
    "schatzkarte",
    "Kapitaenskajuete", "kapitaenskajuete", "logbuch", "Kompassrose",
)  # fmt: skip

# Each would find X if it were readable: by word, identifier, title, heading, meaning, filter.
PROBES: dict[str, dict[str, Any]] = {
    "body": {"q": "Goldtruhe"},
    "title": {"q": TITLE},
    "heading": {"q": HEADING},
    "identifier": {"q": "PII-2031-7788"},
    "meaning": {"q": "robbers of the sea burying their treasure"},
    "collection": {"q": "Truhe", "collection": "kapitaenskajuete"},
    "language": {"q": "Truhe", "language": "de"},
    "type": {"q": "Truhe", "type": "text/html"},
    "all": {"q": "the", "page_size": "50", "explain": "1"},
}
LISTS: dict[str, dict[str, Any]] = {
    "second page": {"page": "2"},
    "failed": {"state": "failed"},
    "collection alone": {"collection": "kapitaenskajuete"},
}

SEARCHING = ("/", "/api/v1/search/")

# Slow, and made of the program alone: to be asked once, by a visitor, is enough.
SAME_FOR_ALL = {"api/schema/", "api/docs/"}
# In the admin a list alone is asked for something; a form reads no parameters.
ADMIN_LIST = re.compile(r"admin/ingestion/\w+/$")


def asked_for(route: Route, subject: Subject) -> list[dict[str, Any]]:
    """Parameters for addresses that answer only to some of their own.
    Rows that come after the subject's have the next keys: X will be among them.
    """
    following = [int(subject.document) + step for step in range(1, 4)]
    cabin = int(subject.collection) + 1
    return {
        "admin/autocomplete/": AUTOCOMPLETE,
        "admin/search/": [{"s": TITLE}, {"s": "kapit"}],
        "admin/ingestion/document/progress/": [{"id": following}],
        **dict.fromkeys(SUGGESTING, TYPED),
        "admin/ingestion/document/": [{"collection__id__exact": cabin}, {"collection": cabin}],
    }.get(route.route, [])


# What a reader may have typed of X so far: of its title, heading, identifier and collection.
SUGGESTING = ("suggestions/", "api/v1/suggestions/")
TYPED = [
    *({"q": typed} for typed in ("pir", "Piratensch", "vers", "PII-2031", "pii20")),
    {"q": "Pira", "collection": "kapitaenskajuete"},
]
AUTOCOMPLETE = [
    {"app_label": "ingestion", "model_name": model, "field_name": name, "term": term}
    for model, name in (("document", "collection"), ("collection", "groups"))
    for term in ("", "kapit")
]


@pytest.fixture
def unrecorded(settings: Any) -> None:
    """The walk's own searches would change what it sees: see test_admin_watching.py."""
    settings.SEARCH_EVENTS = False
    settings.HISTORY_DAYS = 0


@pytest.fixture
def open_document(db: None) -> Document:
    return show()


def show() -> Document:
    """A document for everybody, the second of two."""
    shelf = make_collection("Harbour")
    make_document(shelf, "# Tides\n\nHigh water comes twice a day.\n", file_name="tides.md")
    return make_document(
        shelf, "# Ships\n\nThe harbour master counts them.\n", file_name="ships.md"
    )


def hide() -> tuple[Document, Document]:
    """X, ready to be found by members of `insiders`, in a collection of theirs.
    Beside the documents for everybody two more for these members: one that failed, and one with
    words of the probes.
    """
    cabin = make_collection(
        COLLECTION, visibility=Visibility.GROUPS, groups=["insiders"], language="de"
    )
    hidden = make_document(cabin, HTML, file_name=FILE_NAME)
    harbour = Collection.objects.get(name="Harbour")
    failed = make_document(harbour, b"%PDF-1.4 torn", file_name=FAILED_NAME)
    beside = make_document(harbour, "# Kompassrose\n\nTruhe und Karte.\n", file_name="rose.md")
    readers = Readers.named(["insiders"], [])
    assert not services.restrict([failed, beside], readers, acting_user=None).refused
    failed.refresh_from_db()
    assert hidden.current is not None
    assert (hidden.language, hidden.current.media_type) == ("de", "text/html")
    assert failed.latest is not None
    assert failed.latest.state == State.FAILED
    return hidden, failed


def anonymous() -> None:
    return None


def stranger() -> User:
    return User.objects.create_user("stranger", password="pw-stranger")


def looker() -> User:
    """Staff who may view everything in the admin, and are in no group."""
    user = User.objects.create_user("looker", password="pw-looker", is_staff=True)
    user.user_permissions.set(Permission.objects.filter(codename__startswith="view_"))
    return user


def librarian() -> User:
    """Staff who may do everything in the admin, and are in no group."""
    user = User.objects.create_user("librarian", password="pw-librarian", is_staff=True)
    user.user_permissions.set(Permission.objects.all())
    return user


VIEWERS = (anonymous, stranger, looker, librarian)
Make = Callable[[], User | None]


@pytest.fixture
def client_of() -> Callable[[Make], Client]:
    def client_of(make: Make) -> Client:
        Group.objects.get_or_create(name="insiders")
        client = Client()
        user = make()
        if user is not None:
            client.force_login(user)
        return client

    return client_of


def asked_of(route: Route, subject: Subject) -> Iterator[dict[str, Any]]:
    """The parameters to ask a route for: all of them wherever documents may be listed or found."""
    yield from asked_for(route, subject)
    in_admin = route.route.startswith("admin/")
    if route.route not in SAME_FOR_ALL and (not in_admin or ADMIN_LIST.match(route.route)):
        yield from LISTS.values()
        yield from PROBES.values()


@cached_viewers()
@without_template_contexts()
@recorded_parameters()
def walk(client: Client, subject: Subject) -> dict[str, Answer]:
    """What every address answers that names `subject`, or names nothing of the library.
    An address is not asked again with parameters that it did not read: they change nothing. Nor
    with one whose name it has refused: it is refused whatever its value.
    """
    seen: dict[str, Answer] = {}
    for route in routes():
        if "logout" in route.route:  # ends the session; shows nothing
            continue
        if route.route in SAME_FOR_ALL and client.cookies:
            continue
        for address in addresses(route, subject):
            plain = seen[f"{address}?"] = answer(client, "get", f"{address}?")
            refused: set[str] = set()
            for parameters in filter(plain.depends_on, asked_of(route, subject)):
                if refused.isdisjoint(parameters):
                    url = f"{address}?{urlencode(parameters, doseq=True)}"
                    seen[url] = answer(client, "get", url)
                    refused |= seen[url].refuses(parameters)
            if route.route == "":
                for name, parameters in PROBES.items():
                    url = f"/?{urlencode(parameters)}"
                    headers = {"hx-request": "true"}
                    seen[f"{url}#{name} by htmx"] = answer(client, "get", url, headers=headers)
    return seen


def traces_in(text: str, asked: str, hidden: Document) -> list[str]:
    """What of X stands in an answer and did not stand in the question."""
    words = (*TRACES, str(hidden.public_id))
    return [word for word in words if word in text and word not in asked]


def test_every_address_has_arguments() -> None:
    """A new address with a parameter that the walker does not know fails here."""
    unknown = []
    for route in routes():
        try:
            addresses(route, MISSING)
        except LookupError as error:
            unknown.append(f"{route.route}: tell tests/support/url_walker.py what {error} may be")
    assert unknown == []


@pytest.mark.parametrize("make", VIEWERS, ids=lambda make: make.__name__)
def test_a_hidden_document_changes_nothing_that_others_see(
    open_document: Document, client_of: Callable[[Make], Client], make: Make
) -> None:
    client = client_of(make)
    subject = Subject.of(open_document)
    before = walk(client, subject)
    hidden, _ = hide()
    after = walk(client, subject)
    traced = {url: traces_in(seen.text, url, hidden) for url, seen in after.items()}
    assert {url: found for url, found in traced.items() if found} == {}
    assert before.keys() == after.keys()
    assert [url for url, seen in after.items() if seen != before[url]] == []
    searches = [f"{page}?{urlencode(each)}" for each in PROBES.values() for page in SEARCHING]
    typed = [f"/{page}?{urlencode(each)}" for each in TYPED for page in SUGGESTING]
    assert {*searches, *typed, "/api/v1/documents/?state=failed"} <= after.keys()


QUESTIONS = ("Goldtruhe", "PII-2031-7788", "robbers of the sea burying their treasure", "the")


def answers_to(client: Client) -> dict[str, str]:
    """What is answered to questions that X would answer, over the API and OpenAI's protocol."""
    seen = {}
    for place, question in enumerate(QUESTIONS):
        body: dict[str, Any] = {"q": question, "stream": bool(place % 2)}
        seen[f"answer: {question}"] = told(client, "/api/v1/answers/", body)
        body = {
            "model": "steelyard",
            "messages": [{"role": "user", "content": question}],
            "stream": not place % 2,
        }
        seen[f"chat: {question}"] = told(client, "/v1/chat/completions", body)
    body = {"q": "Truhe", "collection": ["kapitaenskajuete"]}
    seen["collection"] = told(client, "/api/v1/answers/", body)
    for model in ("kapitaenskajuete", "kapitaenskajuete:instant"):
        body = {"model": f"steelyard/{model}", "messages": [{"role": "user", "content": "Truhe"}]}
        seen[model] = told(client, "/v1/chat/completions", body)
    return seen


# What differs from one answer to the next: ids, times, and how long it took.
ONE_TIME = re.compile(
    r'"(?:id|answer)": ?"[^"]*"|"created": ?\d+|"(?:first_token_)?milliseconds": ?[\d.e-]+'
)


def told(client: Client, address: str, body: dict[str, Any]) -> str:
    seen = answer(client, "post", address, data=body, content_type="application/json")
    return ONE_TIME.sub("", f"{seen.status} {seen.body}")


@pytest.mark.parametrize("make", VIEWERS, ids=lambda make: make.__name__)
def test_answers_say_nothing_of_a_hidden_document(
    open_document: Document, client_of: Callable[[Make], Client], make: Make
) -> None:
    """S5-31. By their sessions at /api/, by tokens at /v1/."""
    client = client_of(make)
    user = User.objects.filter(username=make.__name__).first()
    if user is not None:
        client.defaults["HTTP_AUTHORIZATION"] = f"Bearer {AuthToken.objects.create(user=user)[1]}"
    before = answers_to(client)
    hidden, _ = hide()
    after = answers_to(client)
    traced = {asked: traces_in(seen, asked, hidden) for asked, seen in after.items()}
    assert {asked: found for asked, found in traced.items() if found} == {}
    assert after == before


@pytest.mark.parametrize("make", VIEWERS, ids=lambda make: make.__name__)
@cached_viewers()
@without_template_contexts()
def test_an_address_of_a_hidden_document_answers_like_one_of_none(
    open_document: Document, client_of: Callable[[Make], Client], make: Make
) -> None:
    client = client_of(make)
    documents = hide()
    chunks = [document.chunks.count() for document in documents]

    @cache
    def said_of_none(method: str, absent: str) -> tuple[int, str]:
        return said(client, method, absent, MISSING)

    told = [
        f"{method} {there}"
        for hidden in documents
        for method, there, absent in addresses_of_hidden(hidden)
        if said(client, method, there, subject_of(hidden)) != said_of_none(method, absent)
    ]
    assert told == []
    assert [document.chunks.count() for document in documents] == chunks
    assert Document.objects.filter(pk__in=[document.pk for document in documents]).count() == 2


def subject_of(hidden: Document) -> Subject:
    """X without its collection, where that may be named."""
    subject = Subject.of(hidden)
    if hidden.audience_id is None:
        return subject
    return replace(subject, slug=MISSING.slug, collection=MISSING.collection)


def addresses_of_hidden(hidden: Document) -> Iterator[tuple[str, str, str]]:
    """Every method and address that names X, beside the address that names nothing instead."""
    subject = subject_of(hidden)
    for route in filter(names_subject, routes()):
        pairs = zip(addresses(route, subject), addresses(route, MISSING), strict=True)
        for there, absent in pairs:
            for method in ("get", "post", "put", "patch", "delete"):
                yield method, there, absent


def said(
    client: Client, method: str, address: str, subject: Subject, **extra: Any
) -> tuple[int, str]:
    """An answer's status and text, with whatever the request itself named taken out."""
    seen = answer(client, method, address, **extra)
    text = seen.text
    for name in (address, quote(address, safe=""), subject.public_id, subject.slug):
        text = text.replace(name, "NAMED")
    for key in {subject.document, subject.collection, subject.version, subject.chunk}:
        text = re.sub(rf"(?<=[“/=]){key}(?=[”/])", "KEY", text)
    return seen.status, text


@pytest.mark.parametrize("model", [Document, Collection], ids=["document", "collection"])
def test_an_action_on_a_hidden_row_does_what_it_does_on_none(
    open_document: Document, client_of: Callable[[Make], Client], model: Any
) -> None:
    client = client_of(librarian)
    hidden, _ = hide()
    request = RequestFactory().get("/")
    request.user = User.objects.get(username="librarian")
    actions = site.get_model_admin(model).get_actions(request)
    address = f"/admin/ingestion/{model._meta.model_name}/"

    def act(action: str, subject: Subject) -> tuple[int, str]:
        key = subject.object_id(model._meta.model_name)
        form = {"action": action, "_selected_action": key, "post": "yes"}
        return said(client, "post", address, subject, data=form, follow=True)

    assert "delete_selected" in actions
    for action in actions:
        assert act(action, Subject.of(hidden)) == act(action, MISSING), action
    hidden.refresh_from_db()
    assert hidden.versions.count() == 1


def test_the_admin_takes_no_upload_for_a_hidden_collection(
    open_document: Document, client_of: Callable[[Make], Client]
) -> None:
    client = client_of(librarian)
    hidden, _ = hide()

    def upload(subject: Subject) -> tuple[int, str]:
        form = {"collection": subject.collection, "files": SimpleUploadedFile("a.md", b"A b.")}
        return said(client, "post", "/admin/ingestion/document/add/", subject, data=form)

    assert upload(Subject.of(hidden)) == upload(MISSING)
    assert hidden.collection.documents.count() == 1


@pytest.fixture
def insider(client_of: Callable[[Make], Client]) -> Client:
    client = client_of(librarian)
    User.objects.get(username="librarian").groups.add(Group.objects.get(name="insiders"))
    return client


class TestMembers:
    @pytest.fixture(scope="class")
    @classmethod
    def both(
        cls, django_db_setup: None, django_db_blocker: Any
    ) -> Iterator[tuple[Document, Document]]:
        with lasting(django_db_blocker):
            show()
            yield hide()

    @pytest.mark.parametrize("probe", [name for name in PROBES if name != "all"])
    def test_a_member_finds_it_by_every_probe(
        self, both: tuple[Document, Document], insider: Client, probe: str
    ) -> None:
        hidden, _ = both
        page = answer(insider, "get", f"/?{urlencode(PROBES[probe])}")
        found = insider.get("/api/v1/search/", PROBES[probe]).json()
        assert str(hidden.public_id) in page.body
        assert found["results"][0]["document"]["id"] == str(hidden.public_id)

    def test_a_member_finds_it_everywhere(
        self, both: tuple[Document, Document], insider: Client
    ) -> None:
        hidden, failed = both
        subject = Subject.of(hidden)

        def body(address: str) -> str:
            seen = answer(insider, "get", address)
            assert seen.status == 200, address
            return seen.text

        assert "vergruben ihre Goldtruhe" in answers_to(insider)["answer: Goldtruhe"]
        suggested = [body(f"/{page}?{urlencode(q)}") for q in TYPED for page in SUGGESTING]
        assert all(trace in "".join(suggested) for trace in (TITLE, HEADING, "PII-2031-7788"))
        assert all(traces_in(each, "", hidden) for each in suggested)
        assert "Goldtruhe" in body(f"/documents/{subject.public_id}/")
        assert FILE_NAME in body(f"/documents/{subject.public_id}/original/")
        assert TITLE in body(f"/api/v1/documents/{subject.public_id}/")
        assert TITLE in body("/api/v1/documents/?collection=kapitaenskajuete")
        assert FAILED_NAME in body("/api/v1/documents/?state=failed")
        assert COLLECTION in body("/api/v1/collections/")
        assert COLLECTION in body("/api/v1/collections/kapitaenskajuete/")
        assert COLLECTION in body("/")
        assert TITLE in body("/admin/ingestion/document/")
        assert TITLE in body(f"/admin/ingestion/document/{subject.document}/change/")
        assert COLLECTION in body("/admin/ingestion/collection/")
        assert COLLECTION in body(f"/admin/ingestion/collection/{subject.collection}/change/")
        assert "logbuch" in body(f"/admin/ingestion/document/{failed.pk}/change/")
