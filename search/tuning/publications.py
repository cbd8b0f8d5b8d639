"""Draft -> gate -> active. The one way to publish: admin, API, commands and installation.

    publish -> Publication -> the golden set is measured, here or by a worker, unless a run of
               today has the figures -> gate
            -> exactly the measured profile becomes active, or the refusal says why

Each end is an audit row. With `override` a profile that the gate refuses is published, too.
"""

from __future__ import annotations

from datetime import timedelta

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext

from common.accounts.models import User
from common.jobs import Lease, enqueue, work_on
from search.errors import ProfileError, RunConflict
from search.models import SearchProfile as Row
from search.tuning import activation as activation
from search.tuning import diff, drafts, gate_runs, life_cycle
from search.tuning.evaluation import golden_runs
from search.tuning.evaluation.golden_set import fingerprint
from search.tuning.models import EvaluationRun, ProfileChange, Publication

State = Publication.State
# Retry delay while another process measures the same run (a guess).
RUN_BUSY = timedelta(seconds=5)
Action = ProfileChange.Action


def publish(
    profile: Row,
    *,
    acting_user: User | None,
    reason: str = "",
    override: bool = False,
    expected: str = "",
) -> Publication:
    """Publish the profile; return the publication: published, refused, failed or being measured.

    `override` publishes whatever the gate finds: that needs a reason. `expected` is a
    `fingerprint`: if the profile's differs, RunConflict is raised. With more golden queries than
    the gate's setting a worker measures. `acting_user` None is the system
    itself. Raises NotPermitted, and ProfileError for a profile that cannot be published at all.
    """
    _check_permitted(acting_user, override=override, reason=reason)
    with transaction.atomic():
        publication = _ask(profile, acting_user, reason.strip(), override, expected)
        plan = gate_runs.preview()
        if plan.queries:
            publication.run = golden_runs.latest_valid(profile)
            publication.run = publication.run or golden_runs.create(
                profile, acting_user=acting_user
            )
            publication.save(update_fields=["run"])
        if plan.background and publication.run is not None and publication.run.is_open:
            enqueue(Publication, publication.pk)
            return publication
    return carry_out(publication.pk)


def carry_out(pk: int) -> Publication:
    """Measure the publication if necessary, decide it, and return it. Safe to repeat."""

    def attempt(lease: Lease[Publication]) -> None:
        run = lease.row.run
        if run is None or golden_runs.complete(run):
            _settle(lease.row)
        else:
            lease.postpone(RUN_BUSY, attempts=0)

    work_on(Publication, pk, attempt)
    return Publication.objects.get(pk=pk)


@transaction.atomic
def cancel(publication: Publication, *, acting_user: User | None) -> Publication:
    """End a publication that is being measured. Raises RunConflict for one that has ended."""
    _check_permitted(acting_user)
    refusal = gettext("The publication has already been decided.")
    life_cycle.cancel(publication, refusal, decided=timezone.now())
    if publication.run is not None and publication.run.is_open:
        golden_runs.cancel(publication.run)
    return publication


def _check_permitted(user: User | None, *, override: bool = False, reason: str = "") -> None:
    """Raise NotPermitted unless the user may do this. None, the system itself, may.

    Raises ProfileError if the gate is overridden without a reason.
    """
    refusal = gettext("You do not have permission to publish search profiles.")
    gate_runs.check_permitted(user, refusal, override=override)
    if override and not reason.strip():
        raise ProfileError(gettext("To publish against the gate, give a reason."))


def _ask(
    profile: Row, user: User | None, reason: str, override: bool, expected: str
) -> Publication:
    active, draft = profile.locked()
    if draft.state == Row.State.ACTIVE:
        raise ProfileError(gettext("%(chosen)s is the active profile already.") % {"chosen": draft})
    activation.check_complete(draft)
    if Publication.objects.filter(profile=draft, state=State.MEASURING).exists():
        raise RunConflict(
            gettext("%(chosen)s is being measured already. Wait for that, or cancel it.")
            % {"chosen": draft}
        )
    snapshot = fingerprint(draft.as_profile())
    if expected and expected != snapshot:
        raise RunConflict(
            gettext("%(chosen)s has been edited since you opened it. Reload it and try again.")
            % {"chosen": draft}
        )
    return Publication.objects.create(
        profile=draft,
        fingerprint=snapshot,
        replaces=active,
        differences=diff.differences(active, draft) if active else [],
        user=user,
        by_system=user is None,
        reason=reason,
        override=override,
        enqueued_at=timezone.now(),  # the caller enqueues it: at first the sweep skips it
    )


@transaction.atomic
def _settle(measured: Publication) -> Publication:
    """Decide the publication by its run's figures, under lock, and return it."""
    publication = life_cycle.locked(measured)
    if publication.state != State.MEASURING:
        return publication
    run = publication.run
    if run is not None and run.state == EvaluationRun.State.CANCELLED:
        return _end(publication, State.CANCELLED)
    if problem := _changed(publication):
        return _fail(publication, problem, State.OUTDATED)
    if problem := _no_longer_permitted(publication):
        return _fail(publication, problem)
    if run is not None and run.state != EvaluationRun.State.DONE:
        return _unmeasured(
            publication, gettext("It could not be measured: %(error)s") % {"error": run.error}
        )
    if run is None and gate_runs.preview().queries:
        return _fail(publication, gettext("Its measurement was deleted. Publish again."))
    decision = gate_runs.verdict(run) if run is not None else gate_runs.unmeasured()
    publication.findings = [finding.text for finding in decision.findings]
    publication.refusals = [finding.text for finding in decision.refusals]
    if run is not None and run.created < publication.asked:
        text = gettext("The figures are those of run %(run)d: nothing has changed since.")
        publication.findings.append(text % {"run": run.pk})
    if decision.passed:
        return _publish(publication, Action.PUBLISHED)
    if publication.override:
        return _publish(publication, Action.OVERRIDDEN)
    return _refuse(publication, State.REFUSED)


def _changed(publication: Publication) -> str:
    """The reason why the profile is no longer the measured one; empty if it is."""
    active, draft = publication.profile.locked()
    if draft.state == Row.State.ACTIVE:
        return gettext("%(chosen)s is the active profile already.") % {"chosen": draft}
    if fingerprint(draft.as_profile()) != publication.fingerprint:
        return gettext(
            "%(chosen)s has been edited since. Publish it again to measure the current version."
        ) % {"chosen": draft}
    if (active.pk if active else None) != publication.replaces_id:
        return gettext("%(profile)s has become active since. Publish again to compare with it.") % {
            "profile": active or gettext("Another profile")
        }
    return ""


def _no_longer_permitted(publication: Publication) -> str:
    """The reason why the person may no longer publish; empty if they may."""
    user, override = publication.user, publication.override
    needed = gate_runs.permissions(override=override)
    if publication.by_system or (user and user.is_active and user.has_perms(needed)):
        return ""
    return gettext("The person who requested it may no longer publish.")


def _publish(publication: Publication, action: ProfileChange.Action) -> Publication:
    activation.activate(
        publication.profile,
        action=action,
        acting_user=publication.user,
        reason=publication.reason,
        findings=publication.findings,
        run=publication.run,
    )
    return _end(publication, State.PUBLISHED)


def _unmeasured(publication: Publication, problem: str) -> Publication:
    if not publication.override:
        return _fail(publication, problem)
    publication.findings = publication.refusals = [problem]
    return _publish(publication, Action.OVERRIDDEN)


def _fail(
    publication: Publication, problem: str, state: Publication.State = State.FAILED
) -> Publication:
    publication.error, publication.findings = problem, [problem]
    return _refuse(publication, state)


def _refuse(publication: Publication, state: Publication.State) -> Publication:
    drafts.audit(
        publication.profile,
        Action.REFUSED,
        publication.user,
        publication.reason,
        publication.differences,
        findings=publication.findings,
        run=publication.run,
    )
    return _end(publication, state)


def _end(publication: Publication, state: Publication.State) -> Publication:
    publication.state, publication.decided = state, timezone.now()
    publication.save()
    return publication
