"""What runs, optimisations, pools and publications do alike: end.

start -> open -> an attempt under a lease -> done, or failed with a reason
              -> cancelled by a person

What differs is in their modules: the request, the work, the decision.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, TypeVar

from django.db.models import Model
from django.utils.translation import gettext

from common import UserError
from common.jobs import MAX_ATTEMPTS, J, JobState, Lease, LeaseLost, revoke
from search.errors import PoolError, RunConflict, RunFailed

Row = TypeVar("Row", bound=Model)


def locked(row: Row) -> Row:
    """The row, read again and locked until the transaction ends."""
    return type(row)._default_manager.select_for_update(of=("self",)).get(pk=row.pk)


def cancel(row: J, refusal: str, **fields: Any) -> None:
    """End an open job as cancelled, or with the `fields`; RunConflict(refusal) if it has ended."""
    fields = {"state": JobState.CANCELLED, **fields}
    if not revoke(type(row).open_jobs().filter(pk=row.pk), **fields):
        raise RunConflict(refusal)
    row.refresh_from_db()


def check_crashes(
    lease: Lease[Any], crashed: str, error: type[RunFailed | PoolError] = RunFailed
) -> None:
    """Raise `error` with the sentence `crashed` if every attempt so far ended its worker."""
    if lease.crashes_repeatedly:
        raise error(crashed % {"max_attempts": MAX_ATTEMPTS})


@contextmanager
def attempt(
    lease: Lease[Any], crashed: str, ended: Callable[[], Mapping[str, Any]] = dict
) -> Iterator[None]:
    """End the job as failed, with a sentence and the fields `ended`, if the block raises.

    Raises RunFailed in place of a `UserError`, whose sentence it has; other errors go on.
    """
    try:
        check_crashes(lease, crashed)
        yield
    except LeaseLost:
        raise
    except UserError as error:
        lease.finish(JobState.FAILED, error=str(error), **ended())
        raise RunFailed(str(error)) from error
    except Exception as error:
        text = gettext("It stopped with an error (%(error)s). Start it again.")
        lease.finish(JobState.FAILED, error=text % {"error": error}, **ended())
        raise
