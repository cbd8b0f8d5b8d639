"""Searches for better weights: start, cancel and turn into drafts.

    start -> Optimisation -> a worker: `runner.carry_out` -> verdict -> draft -> gate

A reliable gain on people's judgements becomes a draft automatically; any other result only on
request. Nothing here publishes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext

from common.jobs import enqueue, revoke
from search.domain import QueryClass, Signal, Weights
from search.errors import NotPermitted, ProfileError, RunConflict, SearchError
from search.models import SearchProfile
from search.tuning.evaluation import whatif
from search.tuning.evaluation.golden import fingerprint
from search.tuning.models import GoldenQuery, Optimisation
from search.tuning.optimiser.weight_search import FOLDS, Target
from search.tuning.publishing import activation, drafts

if TYPE_CHECKING:
    from common.accounts.models import User

State = Optimisation.State
NEEDED = "search.change_searchprofile"
MAX_FOLDS = 10
MEASURES = whatif.NAMES
WEIGHTS, PRESETS = "weights", "presets"


class OptimisationError(SearchError):
    """A search for better weights cannot start with these options. Says why."""

    code = "optimisation_error"


@dataclass(frozen=True, slots=True)
class Options:
    """The target of the search, and the golden queries it uses.

    `origins` None: people's and imported ones, or the next best available. `kind` is WEIGHTS, or
    PRESETS to measure the shipped profiles instead of new weights.
    """

    wanted: Target = field(default_factory=Target)
    origins: tuple[str, ...] | None = None
    kind: str = WEIGHTS

    def as_json(self) -> dict[str, Any]:
        target = self.wanted
        return {
            "kind": self.kind,
            "measure": target.measure,
            "seed": target.seed,
            "folds": target.folds,
            "normalisers": target.normalisers,
            "signals": _plain(target.signals),
            "classes": _plain(target.classes),
            "origins": _plain(self.origins),
        }

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Self:
        """The inverse of `as_json`; missing keys have their defaults.

        Raises OptimisationError for invalid options.
        """
        usual = Target()
        try:
            target = Target(
                seed=int(value.get("seed", usual.seed)),
                folds=int(value.get("folds", FOLDS)),
                signals=_each(Signal, value.get("signals")),
                classes=_each(QueryClass, value.get("classes")),
                measure=str(value.get("measure", usual.measure)),
                normalisers=bool(value.get("normalisers", True)),
            )
            origins = _each(GoldenQuery.Origin, value.get("origins"))
        except ValueError as error:
            raise OptimisationError(
                gettext("These options are not valid: %(error)s.") % {"error": error}
            ) from error
        options = cls(
            target,
            tuple(map(str, origins)) if origins else None,
            str(value.get("kind", WEIGHTS)),
        )
        options.check()
        return options

    def check(self) -> None:
        """Raise OptimisationError for invalid options."""
        target = self.wanted
        if self.kind not in (WEIGHTS, PRESETS):
            raise OptimisationError(
                gettext("The kind must be %(weights)s or %(presets)s.")
                % {"weights": WEIGHTS, "presets": PRESETS}
            )
        if not 2 <= target.folds <= MAX_FOLDS:
            raise OptimisationError(
                gettext("The number of folds must be between 2 and %(max_folds)s.")
                % {"max_folds": MAX_FOLDS}
            )
        if target.seed < 0:
            raise OptimisationError(gettext("The seed must be 0 or more."))
        if target.measure not in MEASURES:
            raise OptimisationError(
                gettext("The measure must be one of %(measures)s.")
                % {"measures": ", ".join(MEASURES)}
            )
        if target.signals is not None and len(set(target.signals)) < 2:
            raise OptimisationError(
                gettext("Choose at least two signals: a single one always has all the weight.")
            )


def start(
    profile: SearchProfile, options: Options | None = None, *, acting_user: User | None
) -> Optimisation:
    """Queue a search for better weights than the profile's. A worker carries it out.

    Raises NotPermitted, OptimisationError, and RunConflict while another one for the profile runs.
    """
    check_permitted(acting_user)
    asked = options or Options()
    asked.check()
    with transaction.atomic():
        locked = SearchProfile.objects.select_for_update().get(pk=profile.pk)
        if Optimisation.objects.filter(profile=locked, state__in=Optimisation.OPEN).exists():
            raise RunConflict(
                gettext(
                    "A search for better weights than those of %(held)s is already running. "
                    "Wait for it, or cancel it."
                )
                % {"held": locked}
            )
        activation.check_complete(locked)
        row = Optimisation.objects.create(profile=locked, options=asked.as_json(), user=acting_user)
        enqueue(Optimisation, row.pk)
    return row


def cancel(row: Optimisation, *, acting_user: User | None) -> None:
    """End a queued or running search. Raises RunConflict for one that has ended."""
    check_permitted(acting_user)
    ours = Optimisation.open_jobs().filter(pk=row.pk)
    if not revoke(ours, state=State.CANCELLED, finished=timezone.now()):
        raise RunConflict(gettext("It has already ended. Start a new one instead."))
    row.refresh_from_db()


@transaction.atomic
def make_draft(
    row: Optimisation, *, acting_user: User | None, preset: SearchProfile | None = None
) -> SearchProfile:
    """Return the optimisation's draft, creating it if needed; `preset`: a draft of that profile.

    Raises NotPermitted, RunConflict if the profile was edited since, and ProfileError if the
    result has nothing better.
    """
    check_permitted(acting_user)
    locked = Optimisation.objects.select_for_update(of=("self",)).get(pk=row.pk)
    if locked.state != State.DONE:
        raise RunConflict(gettext("It has no result yet."))
    is_presets = locked.options.get("kind") == PRESETS
    if locked.draft is not None and not (is_presets and _is_other(locked.draft, preset)):
        return locked.draft
    draft = (_of_preset if is_presets else _of_weights)(locked, preset, acting_user)
    locked.draft = draft
    locked.save(update_fields=["draft"])
    return draft


def _of_weights(
    row: Optimisation, _preset: SearchProfile | None, acting_user: User | None
) -> SearchProfile:
    base, result = row.profile, row.found
    if not result.get("changed"):
        raise ProfileError(
            gettext("No better weights were found, so there is nothing to create a draft from.")
        )
    if fingerprint(base.as_profile()) != result.get("fingerprint"):
        raise RunConflict(
            gettext("%(base)s has been edited since. Search for better weights again.")
            % {"base": base}
        )
    reason = _reason(row)
    draft = activation.draft_from(base, acting_user=acting_user, reason=reason)
    fields = {f"{signal}_normaliser": name for signal, name in result["normalisers"].items()}
    if lean := result.get("short_lean"):  # results before 0.2 have none
        fields["short_lean"] = lean["after"]
    description = f"{base.description}\n\n{reason}".strip()
    weights = {
        QueryClass(each["class"]): Weights(**each["after"])
        for each in result["classes"]
        if each["after"] != each["before"]
    }
    done = drafts.edit(
        draft,
        {**fields, "description": description},
        weights,
        acting_user=acting_user,
        reason=reason,
    )
    return done.profile


def _of_preset(
    row: Optimisation, preset: SearchProfile | None, acting_user: User | None
) -> SearchProfile:
    compared = {each["profile"] for each in row.found.get("presets", ())}
    if preset is None or preset.pk not in compared:
        raise ProfileError(gettext("Choose one of the profiles that were compared."))
    reason = f"Compared with {row.profile} (comparison {row.pk}): {row.found['verdict']}"
    return activation.draft_from(preset, acting_user=acting_user, reason=reason)


def _is_other(draft: SearchProfile, preset: SearchProfile | None) -> bool:
    return preset is not None and draft.based_on_id != preset.pk


def _reason(row: Optimisation) -> str:
    result = row.found
    began = f"Better weights (search {row.pk}, seed {row.options.get('seed')})"
    if result["reliable"] and not result["synthetic"]:
        return f"{began}: {result['verdict']}"
    why = "synthetic queries only" if result["reliable"] else "no reliable gain"
    return f"{began}, drafted on request ({why}): {result['verdict']}"


def check_permitted(user: User | None) -> None:
    """Raise NotPermitted unless the user may do this. None, the system itself, may."""
    if user is not None and not user.has_perm(NEEDED):
        raise NotPermitted(gettext("You do not have permission to change search profiles."))


def _plain(values: Sequence[Any] | None) -> list[str] | None:
    return None if values is None else [str(value) for value in values]


def _each(kind: Any, values: Sequence[Any] | None) -> Any:
    """The values as members of the enumeration; None for none."""
    return tuple(dict.fromkeys(kind(value) for value in values)) if values else None
