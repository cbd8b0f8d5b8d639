"""Jobs: claimed once, renewed, given back, taken away, found again by the sweep."""

from __future__ import annotations

import threading
import time
from datetime import timedelta
from typing import Any

import pytest
from celery import current_app
from django.apps import apps
from django.conf import settings
from django.db import connection
from django.utils import timezone

from common import jobs
from common.jobs import (
    BULK,
    INTERACTIVE,
    PAUSE_AFTER_ERROR,
    RELEASED,
    Job,
    Lease,
    LeaseLost,
    claim,
    revoke,
    sweep,
)
from ingestion.models import DocumentVersion, Import, Lane, WatchedFolder
from tests.support.factories import make_collection, upload

pytestmark = pytest.mark.django_db

JOBS = [model for model in apps.get_models() if issubclass(model, Job)]


@pytest.fixture
def job() -> Import:
    return Import.objects.create(
        collection=make_collection(), kind=Import.Kind.URL, origin="https://example.org/"
    )


def claimed(job: Import, **options: Any) -> Lease[Import]:
    lease = claim(Import, job.pk, **options)
    assert lease is not None
    return lease


@pytest.mark.parametrize("model", JOBS, ids=lambda model: model.__name__)
class TestEveryJob:
    def test_claim_of_a_job_queries_only_its_own_table(self, model: type[Job]) -> None:
        """An UPDATE over a join would claim a row that another has just claimed."""
        query = model.open_jobs().query
        str(query)
        assert [alias for alias, uses in query.alias_refcount.items() if uses] in (
            [], [model._meta.db_table],
        )  # fmt: skip

    def test_task_and_queues_of_a_job_exist(self, model: type[Job]) -> None:
        current_app.loader.import_default_modules()
        assert model.TASK in current_app.tasks
        assert set(model.QUEUES) <= {queue.name for queue in settings.CELERY_TASK_QUEUES}


class TestClaim:
    def test_only_one_of_two_claims_succeeds(self, job: Import) -> None:
        lease = claimed(job, state=Import.State.RUNNING)
        assert (lease.row.state, lease.row.attempts) == (Import.State.RUNNING, 1)
        assert lease.row.is_leased
        assert claim(Import, job.pk) is None

    @pytest.mark.parametrize(
        "fields",
        [
            {"state": Import.State.DONE},
            {"not_before": timezone.now() + timedelta(days=1)},
            {"options": {"host": "elsewhere"}},
        ],
    )
    def test_closed_or_future_job_cannot_be_claimed(
        self, job: Import, fields: dict[str, Any]
    ) -> None:
        Import.objects.update(**fields)
        assert claim(Import, job.pk) is None

    def test_early_claim_takes_a_future_job(self, job: Import) -> None:
        Import.objects.update(not_before=timezone.now() + timedelta(hours=1))
        assert claimed(job, early=True)

    def test_expired_lease_can_be_claimed_and_its_old_holder_writes_nothing(
        self, job: Import
    ) -> None:
        dead = claimed(job)
        Import.objects.update(leased_until=timezone.now() - timedelta(seconds=1))
        assert claimed(job).row.attempts == 2
        with pytest.raises(LeaseLost):
            dead.update(error="from the dead")
        with pytest.raises(LeaseLost), dead.writing():
            pytest.fail("It may not write.")
        job.refresh_from_db()
        assert job.error == ""

    def test_crashes_count_and_outages_do_not(self, job: Import) -> None:
        Import.objects.update(attempts=jobs.MAX_ATTEMPTS)
        assert claimed(job).crashes_repeatedly
        Import.objects.update(error="The server does not answer.", **RELEASED)
        assert not claimed(job).crashes_repeatedly


class TestLease:
    def test_lease_is_released_at_the_end(self, job: Import) -> None:
        with claimed(job):
            pass
        assert claimed(job)

    def test_error_releases_the_lease_with_a_pause(self, job: Import) -> None:
        before = timezone.now()
        with pytest.raises(ZeroDivisionError), claimed(job):
            raise ZeroDivisionError
        job.refresh_from_db()
        assert not job.is_leased
        assert job.not_before is not None
        assert job.not_before >= before + PAUSE_AFTER_ERROR

    def test_interrupted_process_releases_its_lease_at_once(self, job: Import) -> None:
        with pytest.raises(KeyboardInterrupt), claimed(job):
            raise KeyboardInterrupt
        assert claimed(job)

    def test_a_stop_ends_the_block_quietly(self, job: Import) -> None:
        with claimed(job) as lease:
            assert revoke(Import.objects.filter(pk=job.pk), state=Import.State.CANCELLED) == 1
            lease.update(error="too late")
            pytest.fail("It was stopped.")
        job.refresh_from_db()
        assert (job.state, job.error) == (Import.State.CANCELLED, "")

    def test_loss_of_an_outer_lease_is_raised(self, job: Import) -> None:
        """A run is measured for a publication: the publication's stop is not the run's."""
        other = Import.objects.create(collection=job.collection, kind=job.kind, origin="other")
        outer = claimed(job)
        Import.objects.filter(pk=job.pk).update(lease=None)
        with pytest.raises(LeaseLost), claimed(other):
            outer.update(error="lost")
        assert claimed(other)

    def test_postponed_job_waits_and_finished_job_is_closed(self, job: Import) -> None:
        claimed(job).postpone(timedelta(minutes=5), error="Away.")
        job.refresh_from_db()
        assert (job.error, job.is_leased) == ("Away.", False)
        assert claim(Import, job.pk) is None
        claimed(job, early=True).finish(Import.State.DONE)
        job.refresh_from_db()
        assert (job.is_open, job.is_leased) == (False, False)


class TestSweep:
    def test_sweep_finds_jobs_without_a_message(
        self, job: Import, django_capture_on_commit_callbacks: Any
    ) -> None:
        with django_capture_on_commit_callbacks(execute=True):
            assert sweep(Import) == 1
        job.refresh_from_db()
        assert job.enqueued_at is not None
        assert sweep(Import) == 0  # its message may still come
        claimed(job)
        assert sweep(Import) == 0  # it is held
        Import.objects.update(leased_until=timezone.now() - timedelta(seconds=1))
        assert sweep(Import) == 1  # its worker is dead

    def test_an_empty_queue_proves_that_a_message_was_lost(
        self, job: Import, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        Import.objects.update(enqueued_at=timezone.now() - timedelta(minutes=1))
        monkeypatch.setattr("common.jobs.waiting", {"imports": 3}.get)
        assert sweep(Import) == 0
        monkeypatch.setattr("common.jobs.waiting", {"imports": 0}.get)
        assert sweep(Import) == 1

    def test_message_that_found_its_job_leased_or_not_due_is_sent_again(
        self, job: Import, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("common.jobs.waiting", {"imports": 3}.get)
        minute, now = timedelta(minutes=1), timezone.now()
        Import.objects.update(enqueued_at=now - 5 * minute, not_before=now - minute)
        assert sweep(Import) == 1
        with claimed(job):
            Import.objects.update(enqueued_at=timezone.now())
        assert sweep(Import) == 1

    def test_each_lane_is_swept_by_its_own_queue(self, monkeypatch: pytest.MonkeyPatch) -> None:
        pks = [upload(make_collection(name), f"# {name}").version.pk for name in ("one", "two")]
        DocumentVersion.objects.filter(pk=pks[1]).update(lane=Lane.BULK)
        DocumentVersion.objects.update(enqueued_at=timezone.now() - timedelta(minutes=1))
        monkeypatch.setattr("common.jobs.waiting", {INTERACTIVE: 0, BULK: 9}.get)
        assert sweep(DocumentVersion) == 1

    def test_a_folder_that_is_switched_off_is_left_alone(self) -> None:
        folder = WatchedFolder.objects.create(collection=make_collection(), path="/srv/papers")
        assert sweep(WatchedFolder) == 1
        WatchedFolder.objects.filter(pk=folder.pk).update(enabled=False)
        assert sweep(WatchedFolder) == 0


@pytest.mark.django_db(transaction=True)
class TestThreads:
    def test_one_of_eight_simultaneous_claims_succeeds(self, job: Import) -> None:
        leases: list[Lease[Import] | None] = []
        together = threading.Barrier(8)

        def compete() -> None:
            together.wait()
            leases.append(claim(Import, job.pk))
            connection.close()

        threads = [threading.Thread(target=compete) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(leases) == 8
        assert sum(lease is not None for lease in leases) == 1

    def test_a_lease_is_renewed_while_its_process_works(self, job: Import, settings: Any) -> None:
        settings.INGESTION_LEASE_SECONDS = 5
        with claimed(job):
            first = Import.objects.get().leased_until
            while Import.objects.get().leased_until == first:
                time.sleep(0.05)
            assert claim(Import, job.pk) is None

    def test_a_worker_that_writes_nothing_learns_that_it_was_stopped(
        self, job: Import, settings: Any
    ) -> None:
        settings.INGESTION_LEASE_SECONDS = 1
        with claimed(job) as lease:
            lease.check()
            revoke(Import.objects.filter(pk=job.pk), state=Import.State.CANCELLED)
            for _ in range(600):
                time.sleep(0.1)
                lease.check()
            pytest.fail("It was stopped.")

    def test_an_unreachable_broker_leaves_the_job_to_the_sweep(
        self, job: Import, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def unreachable(*arguments: object, **options: object) -> None:
            raise OSError("no route")

        monkeypatch.setattr(current_app, "send_task", unreachable)
        jobs.enqueue(Import, job.pk)
        job.refresh_from_db()
        assert job.enqueued_at is None
