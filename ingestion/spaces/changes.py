"""People's actions on embedding spaces: create, fill, pause, activate, roll back, drop.

    create -> start -> (backfill) -> activate -> ... -> drop
                                        ^-- roll_back

Activation is one transaction: before it every process uses the old model and its vectors, after
it the new ones. Every action is audited.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from django.contrib.admin.models import ADDITION, CHANGE, DELETION
from django.db import IntegrityError, transaction
from django.utils import timezone
from django.utils.translation import gettext, ngettext

from common.accounts.models import User
from common.jobs import enqueue
from ingestion import events, spaces
from ingestion.errors import EmbeddingRejected, SpaceError
from ingestion.models import EmbeddingSpace
from ingestion.spaces.configuring import build, config_of, embedder_config
from ingestion.spaces.index import index_of

if TYPE_CHECKING:
    from ingestion.embedding import ModelCard

State = EmbeddingSpace.State


def find(name: str) -> EmbeddingSpace:
    """The space with that ID or name. Raises SpaceError unless exactly one matches."""
    rows = EmbeddingSpace.objects.order_by("pk")
    matches = rows.filter(pk=int(name)) if name.isdecimal() else rows.filter(name=name)
    if len(matches) == 1:
        return matches[0]
    raise SpaceError(
        gettext("“%(name)s” is not one embedding space. Give a number of these: %(listed)s.")
        % {"name": name, "listed": ", ".join(f"{row.pk} ({row})" for row in rows) or "none"}
    )


def create(
    kind: str, options: Mapping[str, Any], *, acting_user: User | None, name: str = ""
) -> EmbeddingSpace:
    """Create an empty, paused space for the model in the options.

    One test vector is requested, so that a wrong address or key shows now. Raises EmbeddingError
    if the model fails, SpaceError if it already has a space.
    """
    config, card = config_of(kind, options), _try_model(kind, options)
    try:
        with transaction.atomic():
            space = EmbeddingSpace.objects.create(
                name=(name or card.name)[:120],
                fingerprint=card.fingerprint,
                config=config,
                dimensions=card.dimensions,
                max_tokens=card.max_tokens,
                languages=list(card.languages),
                paused=True,
            )
            events.log(acting_user, space, ADDITION, f"Created for {card.fingerprint}")
    except IntegrityError as error:
        raise SpaceError(
            gettext("Somebody else has just created a space for this model.")
        ) from error
    return space


def _try_model(kind: str, options: Mapping[str, Any]) -> ModelCard:
    """The card of a model, after a test request for one vector.

    Raises EmbeddingError if the model fails, SpaceError if it already has a space.
    """
    model = build(embedder_config(config_of(kind, options))).embedder
    card = model.card
    if model.embed_documents(["A text to try the model with."]).shape != (1, card.dimensions):
        raise EmbeddingRejected(
            gettext("%(card)s did not return a vector of %(dimensions)s dimensions.")
            % {"card": card.name, "dimensions": card.dimensions}
        )
    existing = EmbeddingSpace.objects.filter(fingerprint=card.fingerprint).first()
    if existing is not None:
        raise SpaceError(
            gettext(
                "This model has a space already: number %(existing)s, %(state)s. Use that "
                "one, or drop it first."
            )
            % {"existing": existing.pk, "state": existing.get_state_display().lower()}
        )
    return card


def start(space: EmbeddingSpace, *, acting_user: User | None) -> EmbeddingSpace:
    """Start or resume the backfill of a space; return the space."""
    with transaction.atomic():
        row = _locked(space)
        if row.state == State.DROPPING:
            raise SpaceError(
                gettext("%(row)s is being removed. Create it again afterwards.") % {"row": row}
            )
        row.paused, row.error, row.attempts, row.not_before = False, "", 0, None
        row.filling_after = 0  # to include chunks that an earlier pass missed
        row.save()
        events.log(acting_user, row, CHANGE, "Filling started")
        enqueue(EmbeddingSpace, row.pk)
    return row


def pause(space: EmbeddingSpace, *, acting_user: User | None) -> EmbeddingSpace:
    """Pause the backfill until it is started again; return the space. Its vectors stay."""
    with transaction.atomic():
        row = _locked(space)
        if row.state == State.ACTIVE:
            raise SpaceError(
                gettext("%(row)s is the active space, which searches use: it cannot be paused.")
                % {"row": row}
            )
        row.paused = True
        row.save(update_fields=["paused"])
        events.log(acting_user, row, CHANGE, "Filling paused")
    return row


def obstacles(space: EmbeddingSpace) -> list[str]:
    """Why the space cannot be activated now, a sentence each; empty if it can."""
    if space.state == State.ACTIVE:
        return [gettext("It is the active space already.")]
    if space.state not in (State.BUILDING, State.PREVIOUS):
        return [gettext("It is not being filled: start filling it first.")]
    sentences = []
    missing = spaces.unembedded(space).count()
    if missing:
        sentence = ngettext(
            "%(count)s passage has no vector in it yet: wait until it is filled.",
            "%(count)s passages have no vector in it yet: wait until it is filled.",
            missing,
        )
        sentences.append(sentence % {"count": f"{missing:,}"})
    index = index_of(space)
    if not index.state.is_usable:
        sentences.append(gettext("Its index is not ready: %(index)s.") % {"index": index})
    return sentences


def activate(
    space: EmbeddingSpace, *, acting_user: User | None, incomplete: bool = False
) -> EmbeddingSpace:
    """Make the space the active one; return it. The previous space is kept and kept filled.

    One transaction: the next search of every process uses it. Raises SpaceError if it lacks
    vectors or its index. `incomplete` skips these checks, for when the active model is out of
    order: passages without a vector are found by keywords until filled.
    """
    # Checked twice: here without a lock, and again while no document can become ready.
    _refuse(space, incomplete)
    with transaction.atomic():
        spaces.hold_switch(exclusive=True)
        rows = {row.pk: row for row in EmbeddingSpace.objects.select_for_update().order_by("pk")}
        locked = rows.get(space.pk)
        if locked is None:
            raise SpaceError(gettext("%(space)s no longer exists.") % {"space": space})
        _refuse(locked, incomplete, checks=False)
        now = timezone.now()
        for row in rows.values():
            if row.state == State.PREVIOUS and row.pk != locked.pk:
                # Kept, but no longer filled; before another one enters its state.
                row.state, row.paused, row.filled_at = State.BUILDING, True, None
                row.save(update_fields=["state", "paused", "filled_at"])
        before = next((row for row in rows.values() if row.state == State.ACTIVE), None)
        # It must leave its state before another space enters it: a constraint allows one of each.
        EmbeddingSpace.objects.filter(pk=locked.pk).update(state=State.BUILDING)
        if before is not None:
            before.state, before.left_at = State.PREVIOUS, now
            before.save(update_fields=["state", "left_at"])
        locked.state, locked.activated_at, locked.left_at = State.ACTIVE, now, None
        locked.paused = False
        if incomplete:
            locked.filled_at = None
        # With save(), whose signal makes every process reload its configuration.
        locked.save()
        events.log(acting_user, locked, CHANGE, f"Activated in place of {before}")
        enqueue(EmbeddingSpace, locked.pk)
        if before is not None:
            enqueue(EmbeddingSpace, before.pk)
    return locked


def roll_back(*, acting_user: User | None, incomplete: bool = False) -> EmbeddingSpace:
    """Reactivate the previous space and return it; the active one becomes the previous one."""
    previous = EmbeddingSpace.objects.filter(state=State.PREVIOUS).first()
    if previous is None:
        raise SpaceError(gettext("No previous space is kept, so there is nothing to go back to."))
    return activate(previous, acting_user=acting_user, incomplete=incomplete)


def drop(space: EmbeddingSpace, *, acting_user: User | None) -> None:
    """Have the workers delete the space, its vectors and its index. Refuses the active one."""
    with transaction.atomic():
        row = _locked(space)
        if row.state == State.ACTIVE:
            raise SpaceError(
                gettext("%(row)s is the active space. Activate another one first.") % {"row": row}
            )
        row.state = State.DROPPING
        row.save(update_fields=["state"])
        events.log(acting_user, row, DELETION, "Removed")
        enqueue(EmbeddingSpace, row.pk)


def _refuse(space: EmbeddingSpace, incomplete: bool, *, checks: bool = True) -> None:
    if space.state not in (State.BUILDING, State.PREVIOUS):
        raise SpaceError(f"{space} cannot be activated. {obstacles(space)[0]}")
    if incomplete:
        return
    sentences = obstacles(space) if checks else _missing(space)
    if sentences:
        raise SpaceError(f"{space} cannot be activated yet. {' '.join(sentences)}")


def _missing(space: EmbeddingSpace) -> list[str]:
    """The part of `obstacles` that a new document may have caused since the first check."""
    if spaces.unembedded(space).exists():
        return [
            gettext(
                "A document that it does not contain yet was added meanwhile: try again in a "
                "moment."
            )
        ]
    return []


def _locked(space: EmbeddingSpace) -> EmbeddingSpace:
    row = EmbeddingSpace.objects.select_for_update().filter(pk=space.pk).first()
    if row is None:
        raise SpaceError(gettext("%(space)s no longer exists.") % {"space": space})
    return row
