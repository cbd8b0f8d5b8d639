"""Save and delete pins, hides, synonyms, rules and profiles of scopes, with the audit.

The admin's forms and the API share the checks: the model's own, and `conflicts`.
"""

from __future__ import annotations

from collections.abc import Collection as Container
from typing import TYPE_CHECKING

from django.contrib.admin.models import ADDITION, CHANGE, DELETION
from django.db import IntegrityError, transaction
from django.utils.translation import gettext

from ingestion.events import log
from search.curation import Conflicts, of_hide, of_pin, of_synonym
from search.errors import RunConflict
from search.models import ClassRule, Hide, Pin, ScopeProfile, Synonym

if TYPE_CHECKING:
    from common.accounts.models import User

Row = Pin | Hide | Synonym | ClassRule | ScopeProfile


def conflicts_of(row: Row, *, viewer: User) -> Conflicts:
    """The errors that keep a row from being saved, and the warnings that do not."""
    match row:
        case Pin():
            return of_pin(row, viewer=viewer)
        case Hide():
            return of_hide(row)
        case Synonym():
            return of_synonym(row)
        case _:
            return Conflicts()


def save(row: Row, changed: Container[str], *, acting_user: User) -> tuple[str, ...]:
    """Save a row that its model has checked; return the warnings about it.

    Raises RunConflict for a row that conflicts with others.
    """
    found = conflicts_of(row, viewer=acting_user)
    if found.errors:
        raise RunConflict(" ".join(found.errors))
    is_new = row.pk is None
    try:
        with transaction.atomic():
            row.save()
            message = "Added" if is_new else f"Changed {' and '.join(sorted(changed)) or 'nothing'}"
            log(acting_user, row, ADDITION if is_new else CHANGE, message)
    except IntegrityError as error:  # saved by somebody else since the model's check
        raise RunConflict(
            gettext("Somebody else has just saved the same: “%(row)s”. Reload the page to see it.")
            % {"row": row}
        ) from error
    return found.warnings


@transaction.atomic
def delete(row: Row, *, acting_user: User) -> None:
    """Delete a row, with the audit."""
    log(acting_user, row, DELETION, "Deleted")
    row.delete()
