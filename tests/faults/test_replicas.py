"""Searches read from two real standbys, which die, hang, fall behind, and come back.

Whatever happens to them, a reader sees every upload and every right that was committed before the
question. The outcomes are in docs/operations.md, “Read replicas”.
"""

from __future__ import annotations

import json
import signal
import subprocess
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import psutil
import psycopg
import pytest
from asgiref.sync import async_to_sync
from django.contrib.auth.models import Group
from django.db import connections
from django.test import RequestFactory

from common import replicas
from common.accounts.models import User
from common.observing import metrics
from ingestion.models import Visibility
from kbsite.embedded import EmbeddedServers
from kbsite.embedded.server import _processes_in
from kbsite.operations.probes import health
from kbsite.operations.probes import parts as examined
from kbsite.settings.servers import as_replica
from search.pipeline import search
from tests.faults.harness import wait_for
from tests.support.factories import make_collection, make_document
from tests.upgrades import release

NAMES = ("replica1", "replica2")
pytestmark = [
    pytest.mark.django_db(transaction=True, databases=["default", *NAMES]),
    pytest.mark.usefixtures("clean_cache"),
]

QUESTION = "What slides along the beam?"
TEXT = "# The beam\n\nA poise slides along the beam until both sides balance."
NEW = "# Another\n\nWhat slides along this beam is a ring of brass, and it was cast in Lyon."


class Standby:
    """A standby of the tests' database."""

    def __init__(self, name: str, primary: EmbeddedServers, folder: Path) -> None:
        self.name = name
        self.servers = EmbeddedServers(folder, durable=False)
        release_program = release.postgres_program("pg_basebackup")
        data = self.servers.postgres.data_dir
        subprocess.run(
            [
                release_program, "--host", primary.socket_dir, "--username", "steelyard",
                "--pgdata", data, "--checkpoint", "fast", "--write-recovery-conf", "--no-sync",
            ],
            check=True, capture_output=True,
        )  # fmt: skip
        self.servers.start(redis=False)

    @property
    def address(self) -> dict[str, Any]:
        return dict(self.servers.database_settings())

    def ask(self, query: str) -> None:
        at = {"host": self.address["HOST"], "user": self.address["USER"], "dbname": "postgres"}
        with psycopg.connect(**at, autocommit=True) as connection:
            connection.execute(query)

    def send(self, what: signal.Signals) -> None:
        for process in _processes_in(self.servers.postgres.data_dir):
            with suppress(psutil.NoSuchProcess):
                process.send_signal(what)

    @contextmanager
    def hanging(self) -> Iterator[None]:
        self.send(signal.SIGSTOP)
        try:
            yield
        finally:
            self.send(signal.SIGCONT)

    @contextmanager
    def behind(self) -> Iterator[None]:
        self.ask("SELECT pg_wal_replay_pause()")
        try:
            yield
        finally:
            self.ask("SELECT pg_wal_replay_resume()")


@pytest.fixture(scope="module")
def standbys(
    django_db_setup: None, servers: EmbeddedServers, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[list[Standby]]:
    """Two of them, streaming. The primary's commits wait for its log, as on every real site."""
    at = servers.database_settings()
    primary = {"host": at["HOST"], "user": at["USER"], "dbname": "postgres"}

    def set_up(how: str) -> None:
        with psycopg.connect(**primary, autocommit=True) as connection:
            connection.execute(f"ALTER SYSTEM {how}")
            connection.execute("SELECT pg_reload_conf()")

    set_up("SET synchronous_commit = 'on'")
    made: list[Standby] = []
    try:
        with pytest.MonkeyPatch.context() as patch:
            for name in NAMES:
                made.append(Standby(name, servers, tmp_path_factory.mktemp(name)))
                test_database = {"NAME": connections["default"].settings_dict["NAME"]}
                found = {**as_replica(made[-1].address), **test_database}
                patch.setitem(connections.settings, name, connections.settings["default"] | found)
            yield made
    finally:
        for each in made:
            each.servers.stop()
        set_up("RESET synchronous_commit")


@pytest.fixture
def site(standbys: list[Standby], transactional_db: None, settings: Any) -> Iterator[list[Standby]]:
    """The site with both replicas in its settings. A machine with much to do has time to replay."""
    settings.DATABASE_ROUTERS = ["common.replicas.Router"]
    settings.DATABASE_REPLICA_WAIT = 20
    yield standbys
    for each in standbys:
        connections[each.name].close()
        connections[each.name].close_pool()
        each.send(signal.SIGCONT)
        each.servers.start(redis=False)  # where a test failed in the middle
    replicas._known.clear()


def reads() -> Counter[str]:
    """How often each server was read, so far."""
    found: Counter[str] = Counter()
    for sample in next(iter(metrics.READS.collect())).samples:
        if sample.name.endswith("_total"):
            found[sample.labels["server"]] = int(sample.value)
    return found


def asked(viewer: User | None = None, question: str = QUESTION) -> tuple[list[str], str]:
    """The titles that the reader finds, and the server that was read."""
    before = reads()
    found = search(question, viewer=viewer)
    (server,) = (reads() - before).elements()
    assert not found.degraded
    return [result.title for result in found.results], server


def healthy() -> tuple[int, dict[str, Any]]:
    """The status of /health/, and what it says of the replicas."""
    response = async_to_sync(health.health.view)(RequestFactory().get(health.PATH))
    return response.status_code, json.loads(response.content)["replicas"]


def wait_until_used(names: set[str]) -> None:
    """Searches come back to all of these replicas."""
    seen: set[str] = set()
    wait_for(lambda: seen.add(asked()[1]) or names <= seen, seconds=60)  # type: ignore[func-returns-value]


def test_searches_read_replicas_and_everyone_sees_what_was_written_before(
    site: list[Standby], settings: Any
) -> None:
    collection = make_collection()
    for word in ("anchor", "bollard", "capstan", "davit", "fairlead", "gunwale"):
        make_document(collection, f"# {word}\n\nA sentence about the {word} alone.", title=word)
        titles, server = asked(question=word)
        assert word in titles
        assert server in NAMES
    wait_until_used(set(NAMES))
    status, found = healthy()
    assert status == 200
    assert set(found) == set(NAMES)
    assert all(set(each) == {"bytes", "seconds"} for each in found.values())
    assert {each.state for each in examined.read_replicas()} == {"ok"}


def test_lagging_replicas_show_no_old_rights_and_hide_no_upload(
    site: list[Standby], member: User, settings: Any
) -> None:
    collection = make_collection(visibility=Visibility.GROUPS, groups=["insiders"])
    make_document(collection, TEXT, title="Beam")
    assert asked(member)[0] == ["Beam"]
    settings.DATABASE_REPLICA_WAIT = 0.05
    with site[0].behind(), site[1].behind():
        member.groups.remove(Group.objects.get(name="insiders"))
        again = User.objects.get(pk=member.pk)
        assert asked(again) == ([], "primary")
        collection.visibility = Visibility.PUBLIC
        collection.save()
        assert asked() == (["Beam"], "primary")
        make_document(collection, NEW, title="New beam")
        titles, server = asked()
        assert "New beam" in titles
        assert server == "primary"
        behind = healthy()[1]
        assert all(each["bytes"] > 0 for each in behind.values())
    settings.DATABASE_REPLICA_WAIT = 20
    wait_until_used(set(NAMES))
    assert "New beam" in asked()[0]


def test_a_killed_replica_is_replaced_by_the_other_then_by_the_primary(site: list[Standby]) -> None:
    make_document(make_collection(), TEXT, title="Beam")
    wait_until_used(set(NAMES))
    one, other = site
    one.send(signal.SIGKILL)
    assert {asked()[1] for _ in range(8)} <= {other.name, "failed"}
    assert asked() == (["Beam"], other.name)
    status, found = healthy()
    assert status == 200
    assert found[one.name] == {}
    other.send(signal.SIGKILL)
    for _ in range(4):
        titles, server = asked()
        assert titles == ["Beam"]
        assert server in ("failed", "primary")
    assert {each.state for each in examined.read_replicas()} == {"wrong"}
    for each in site:
        each.servers.start(redis=False)
    wait_until_used(set(NAMES))


def test_replicas_that_hang_are_given_up_and_taken_back(site: list[Standby]) -> None:
    make_document(make_collection(), TEXT, title="Beam")
    wait_until_used(set(NAMES))
    with site[0].hanging(), site[1].hanging():
        for _ in range(4):
            titles, server = asked()
            assert titles == ["Beam"]
            assert server in ("failed", "primary")
        assert [each.answers for each in replicas.lags()] == [False, False]
    wait_until_used(set(NAMES))


def test_a_replica_that_hangs_in_the_middle_of_a_search_is_left_for_the_primary(
    site: list[Standby], monkeypatch: pytest.MonkeyPatch
) -> None:
    make_document(make_collection(), TEXT, title="Beam")
    wait_until_used(set(NAMES))
    monkeypatch.setattr(replicas, "STATEMENT_SECONDS", 0.3)
    runs: list[str] = []

    def work() -> int:
        runs.append(replicas._alias.get())
        standby = next((each for each in site if each.name == runs[-1]), None)
        if standby is not None:
            standby.send(signal.SIGSTOP)
        with replicas.connection.cursor() as cursor:
            cursor.execute("SELECT count(*) FROM ingestion_document")
            return int(cursor.fetchone()[0])

    try:
        assert replicas.read(work) == 1
    finally:
        for each in site:
            each.send(signal.SIGCONT)
    assert runs[0] in NAMES
    assert runs[1:] == ["default"]
    wait_until_used(set(NAMES))


def test_a_promoted_standby_is_not_read_any_more(site: list[Standby]) -> None:
    collection = make_collection()
    make_document(collection, TEXT, title="Beam")
    wait_until_used(set(NAMES))
    site[0].ask("SELECT pg_promote()")
    make_document(collection, NEW, title="New beam")
    assert {asked()[1] for _ in range(8)} == {site[1].name}
    assert "New beam" in asked()[0]
    assert [each.is_known for each in replicas.lags()] == [False, True]
