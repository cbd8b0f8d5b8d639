"""Programs that are killed: a worker in each state, the broker, Postgres, the parser's child."""

from __future__ import annotations

import io
import shutil
import time
import zipfile
from collections.abc import Callable
from contextlib import ExitStack

import psutil
import pytest
from django.db import connection, transaction

from common.jobs import RELEASED
from ingestion import services
from ingestion.documents import purging
from ingestion.models import Chunk, ChunkEmbedding, Document, Purge, State
from kbsite.embedded import EmbeddedServers
from search.pipeline import search
from tests.faults.halted_workers import SWAP, endless, held_bytes, hold, waiting_for_locks
from tests.faults.harness import (
    LONG,
    NOTE,
    Process,
    again,
    assert_nothing_lost_or_doubled,
    finish_here,
    finish_with_a_new_worker,
    finished,
    fork_servers_of,
    in_state,
    kill,
    kill_server,
    let_time_pass,
    parsers_of,
    wait_for,
    worker,
)
from tests.support.factories import make_collection, make_document, make_long_document, upload

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.usefixtures("clean_cache", "empty_queues", "short_leases"),
]

NOTE_OF_SHIPS = "# Ledger\n\nThe harbour master enters every ship by name and tonnage."
UNDER_WAY = [State.QUEUED, State.PARSING, State.CHUNKING, State.EMBEDDING]


@pytest.mark.parametrize("state", UNDER_WAY)
def test_worker_killed_in_any_state_only_delays_a_document(state: State) -> None:
    version = upload(make_collection(), NOTE).version
    with hold(version, state), worker() as doomed:
        if state == State.QUEUED:
            wait_for(waiting_for_locks)  # it has the message, and not yet the lease
        wait_for(in_state(version, state))
        kill(doomed)
    finish_here()
    assert in_state(version, State.READY)()
    assert_nothing_lost_or_doubled(documents=1)


def test_worker_killed_during_embedding_keeps_the_finished_vectors() -> None:
    version = upload(make_collection(), LONG, file_name="long.md").version
    with hold(version, SWAP), worker() as doomed:  # however fast it embeds, it does not end
        wait_for(ChunkEmbedding.objects.exists)
        kill(doomed)
    kept = set(ChunkEmbedding.objects.values_list("chunk", flat=True))
    assert in_state(version, State.EMBEDDING)()
    finish_with_a_new_worker()
    assert kept <= set(ChunkEmbedding.objects.values_list("chunk", flat=True))
    assert_nothing_lost_or_doubled(documents=1)


def test_a_worker_killed_during_the_swap_leaves_the_old_version_searched() -> None:
    old = make_document(make_collection(), NOTE)
    newer = again(old)
    with hold(newer, SWAP), worker() as doomed:
        wait_for(waiting_for_locks)
        kill(doomed)
        assert searched_versions() == {old.current_id}
    finish_here()
    assert searched_versions() == {newer.pk}
    assert_nothing_lost_or_doubled(documents=1)


@pytest.mark.parametrize("pool", ["0", "10"], ids=["plain connections", "pooled connections"])
def test_swap_is_repeated_after_postgres_was_killed(servers: EmbeddedServers, pool: str) -> None:
    old = make_document(make_collection(), NOTE)
    newer = again(old)
    with worker(DATABASE_POOL=pool):
        with hold(newer, SWAP):
            wait_for(waiting_for_locks)
            kill_server(servers.postgres)
            connection.close()
            servers.start()
        assert searched_versions() == {old.current_id}
        let_time_pass()
        # The same worker goes on: a database that was away is no reason to end.
        wait_for(finished, sweeping=True)
    assert searched_versions() == {newer.pk}
    assert_nothing_lost_or_doubled(documents=1)


@pytest.mark.parametrize("with_its_data", [True, False])
def test_queued_tasks_survive_a_killed_broker(
    servers: EmbeddedServers, with_its_data: bool
) -> None:
    collection = make_collection()
    versions = [upload(collection, f"# Note {i}\n\nText {i}.").version for i in range(5)]
    kill_server(servers.valkey)
    if not with_its_data:
        shutil.rmtree(servers.valkey.data_dir)
    servers.start()
    finish_with_a_new_worker()
    assert all(in_state(version, State.READY)() for version in versions)
    assert_nothing_lost_or_doubled(documents=5)


def test_worker_survives_a_killed_broker(servers: EmbeddedServers) -> None:
    collection = make_collection()
    version = upload(collection, NOTE).version
    with worker():
        with hold(version, State.EMBEDDING):
            wait_for(waiting_for_locks)
            kill_server(servers.valkey)
            time.sleep(0.5)  # the worker finds nobody there
            servers.start()
        other = upload(collection, "# Other\n\nText.", file_name="o.md").version
        wait_for(in_state(version, State.READY))
        let_time_pass()
        wait_for(finished, sweeping=True)
    assert in_state(other, State.READY)()
    assert_nothing_lost_or_doubled(documents=2)


@pytest.mark.parametrize("victims", [parsers_of, fork_servers_of])
def test_killed_parser_fails_only_its_document(
    victims: Callable[[Process], list[psutil.Process]],
) -> None:
    collection = make_collection()
    with worker() as process:
        # A worker that starts closes the folder of the originals, which `endless` opens.
        wait_for(in_state(upload(collection, "# First\n\nText.").version, State.READY))
        with ExitStack() as ended:
            with transaction.atomic():
                doomed = upload(collection, NOTE * 500, file_name="huge.md").version
                ended.enter_context(endless(doomed))
            killed: set[int] = set()
            for _ in range(2):  # it is tried once more
                wait_for(lambda: {one.pid for one in parsers_of(process)}.difference(killed))
                killed.update(one.pid for one in parsers_of(process))
                for victim in victims(process):
                    victim.kill()
            wait_for(finished)
        doomed.refresh_from_db()
        assert doomed.state == State.FAILED
        assert "the system stopped its parser twice" in doomed.error
        # The worker is healthy.
        other = upload(collection, "# Other\n\nText.", file_name="o.md").version
        wait_for(in_state(other, State.READY))
    assert_nothing_lost_or_doubled(documents=3)


def test_worker_killed_between_archive_members_doubles_no_member() -> None:
    texts = [f"# Part {number}\n\nText of part {number}." for number in range(5)]
    whole = upload(make_collection(), archive_of(texts), file_name="all.zip").version
    parts = Document.objects.filter(parent=whole.document)
    with held_bytes(texts[2]), worker() as doomed:
        # On a busy machine it waits for other locks before.
        wait_for(lambda: parts.count() == 2 and waiting_for_locks())
        kill(doomed)
    before = set(parts.values_list("pk", flat=True))
    assert len(before) == 2
    finish_here()
    assert before < set(parts.values_list("pk", flat=True))
    assert sorted(parts.values_list("part_path", flat=True)) == [f"{i}.md" for i in range(5)]
    assert_nothing_lost_or_doubled(documents=6)


def searched_versions() -> set[int]:
    found = Chunk.objects.filter(searchable=True)
    return set(found.values_list("version", flat=True))


def archive_of(texts: list[str]) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for number, text in enumerate(texts):
            archive.writestr(f"{number}.md", text)
    return packed.getvalue()


def test_erasure_of_a_collection_continues_after_a_killed_worker() -> None:
    archive = make_collection("Archive")
    make_long_document(archive, NOTE_OF_SHIPS, 2_500)
    other = make_document(make_collection("Log"), NOTE)
    services.delete_collection(archive, acting_user=None)
    services.purge_collection_later(archive, acting_user=None)
    erased = Purge.objects.filter(erased__gt=0)
    with worker(1) as doomed:
        wait_for(lambda: erased.exists() or not Purge.objects.exists())
        found = search("pump", viewer=None).hits[:1]
        assert [hit.candidate.document_id for hit in found] == [other.pk]
        kill(doomed)
    Purge.objects.update(**RELEASED)
    while pk := Purge.objects.values_list("pk", flat=True).first():
        purging.advance(pk)
    assert list(Document.objects.all()) == [other]
    assert_nothing_lost_or_doubled(documents=1)
