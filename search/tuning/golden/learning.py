"""The classifier learned from the golden queries' classes: trained, put in use, taken out (ADR 43).

golden queries with a class -> cross-validation -> LearnedClassifier, not in use
                            -> use: questions that no rule matches are classified by it
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from django.contrib.admin.models import ADDITION, CHANGE
from django.db import IntegrityError, transaction
from django.utils.translation import gettext, ngettext

from ingestion.events import log
from search.domain import Classification, Query, QueryClass
from search.engine import configuration
from search.engine.configuration import Configuration
from search.engine.settle import read
from search.errors import NotPermitted, ProfileError, RunConflict, SearchError
from search.models import LearnedClassifier
from search.query import classify
from search.query.learned import FOLDS, THRESHOLD, held_out, train
from search.query.rule_classifier import FALLBACK_RULE
from search.tuning.models import GoldenQuery

if TYPE_CHECKING:
    from common.accounts.models import User

TRAIN, USE = "search.add_learnedclassifier", "search.change_learnedclassifier"
# Two queries of each class in each part of the cross-validation; a guess.
MIN_OF_CLASS = 2 * FOLDS
# With more, the newest are used: 500 take half a second of a core, 1,000 take 3, and it grows with
# the cube. A guess at what people wait for.
MOST_QUERIES = 1_000
THRESHOLDS = (0.5, 0.6, 0.7, 0.8, 0.9)


@dataclass(frozen=True, slots=True)
class Labelled:
    """A golden query with its class, and what the rules alone say of it."""

    query: Query
    label: QueryClass
    by_rules: Classification

    @property
    def unmatched(self) -> bool:
        """Whether no rule matches, so that the model decides."""
        return self.by_rules.rule == FALLBACK_RULE


def labelled_queries() -> list[Labelled]:
    """The enabled golden queries that have a class, the newest first, at most MOST_QUERIES."""
    held = configuration.current()
    rows = GoldenQuery.objects.filter(enabled=True).exclude(query_class="")
    newest = rows.order_by("-created", "-pk").values_list("text", "query_class")[:MOST_QUERIES]
    return [found for row in newest if (found := _labelled(*row, held)) is not None]


def _labelled(text: str, label: str, held: Configuration) -> Labelled | None:
    """The query as a search reads it; None if a search would reject it or it asks nothing."""
    try:
        query = read(text, held)
    except SearchError:
        return None
    if query.is_empty:
        return None
    return Labelled(query, QueryClass(label), classify(query, held.rules))


def counts_by_class(labelled: Sequence[Labelled]) -> dict[QueryClass, int]:
    """The number of queries of each class that has one, in class order."""
    counts = Counter(each.label for each in labelled)
    return {each: counts[each] for each in QueryClass if counts[each]}


def too_few(counts: dict[QueryClass, int]) -> str:
    """Why nothing can be learned from so many queries of each class; empty if it can."""
    if len(counts) < 2:
        return gettext(
            "A classifier learns to tell classes apart. Give golden queries their class: at least "
            "%(least)d of each of two classes."
        ) % {"least": MIN_OF_CLASS}
    lacking = [
        gettext("%(name)s has %(count)d") % {"name": each.value, "count": count}
        for each, count in counts.items()
        if count < MIN_OF_CLASS
    ]
    if not lacking:
        return ""
    return gettext(
        "Each class needs at least %(least)d golden queries: %(lacking)s. Label more of them, or "
        "remove the class from the few."
    ) % {"least": MIN_OF_CLASS, "lacking": ", ".join(lacking)}


def learn(*, acting_user: User | None, threshold: float = THRESHOLD) -> LearnedClassifier:
    """Train and cross-validate the next version; it is not in use yet.

    Raises NotPermitted, ProfileError for too few labelled queries or an invalid threshold, and
    RunConflict if another training has just finished.
    """
    _check(acting_user, TRAIN)
    if not 0 <= threshold <= 1:
        raise ProfileError(gettext("The threshold must lie between 0 and 1."))
    labelled = labelled_queries()
    if problem := too_few(counts_by_class(labelled)):
        raise ProfileError(problem)
    pairs = [(each.query, each.label) for each in labelled]
    measures = measured(labelled, held_out(pairs), threshold)
    model = train(pairs, threshold=threshold)
    try:
        with transaction.atomic():
            newest = LearnedClassifier.objects.select_for_update().order_by("version")
            version = max((row.version for row in newest.only("version")), default=0) + 1
            row = LearnedClassifier.objects.create(
                version=version,
                model=model.as_json(),
                threshold=threshold,
                queries=len(labelled),
                measures=measures,
                trained_by=acting_user,
            )
            log(acting_user, row, ADDITION, f"Trained on {len(labelled)} golden queries")
    except IntegrityError as error:  # the version was taken meanwhile
        message = gettext("Somebody else has just trained a classifier. Try again.")
        raise RunConflict(message) from error
    return row


def measured(
    labelled: Sequence[Labelled], found: Sequence[tuple[QueryClass, float]], threshold: float
) -> dict[str, Any]:
    """The figures of a cross-validation; `found` are the classes by models without the query.

    Numbers of queries: `rules`, `learned` and `both` are right by the rules alone, the model alone,
    and the rules with the model where none matches; `majority` are of the commonest class.
    `thresholds` are over the queries that no rule matches: how many the model decides, how many of
    those are right, and how many were as “general”. `confusion` has the given classes by true one.
    """
    open_ones = [(each, one) for each, one in zip(labelled, found, strict=True) if each.unmatched]
    given = [
        one[0] if each.unmatched and one[1] >= threshold else each.by_rules.query_class
        for each, one in zip(labelled, found, strict=True)
    ]
    counts = counts_by_class(labelled)
    commonest = max(counts, key=lambda each: counts[each])
    confusion: dict[str, dict[str, int]] = {}
    for each, shown in zip(labelled, given, strict=True):
        row = confusion.setdefault(each.label.value, {})
        row[shown.value] = row.get(shown.value, 0) + 1
    return {
        "queries": len(labelled),
        "classes": {each.value: count for each, count in counts.items()},
        "folds": FOLDS,
        "rules": sum(each.by_rules.query_class is each.label for each in labelled),
        "learned": sum(one[0] is each.label for each, one in zip(labelled, found, strict=True)),
        "both": sum(shown is each.label for each, shown in zip(labelled, given, strict=True)),
        "majority": counts[commonest],
        "commonest": commonest.value,
        "unmatched": len(open_ones),
        "thresholds": [_at(limit, open_ones) for limit in sorted({*THRESHOLDS, threshold})],
        "confusion": confusion,
    }


def verdict(measures: dict[str, Any]) -> str:
    """Whether the figures speak for putting the version in use, in a sentence."""
    gained = measures["both"] - measures["rules"]
    if gained <= 0:
        return gettext(
            "It gives no more right classes than the rules alone: leave it out of use, or label "
            "more golden queries that no rule matches."
        )
    return ngettext(
        "It gives %(gained)d more right class than the rules alone, of %(queries)d queries.",
        "It gives %(gained)d more right classes than the rules alone, of %(queries)d queries.",
        gained,
    ) % {"gained": gained, "queries": measures["queries"]}


def _at(
    limit: float, open_ones: Sequence[tuple[Labelled, tuple[QueryClass, float]]]
) -> dict[str, float]:
    """The figures of one threshold."""
    decided = [(each, one[0]) for each, one in open_ones if one[1] >= limit]
    return {
        "threshold": limit,
        "decided": len(decided),
        "right": sum(shown is each.label for each, shown in decided),
        "before": sum(each.by_rules.query_class is each.label for each, _ in decided),
    }


@transaction.atomic
def use(row: LearnedClassifier, *, acting_user: User | None) -> LearnedClassifier:
    """Put this version in use from the next search, in place of the one in use."""
    _check(acting_user, USE)
    held = LearnedClassifier.objects.select_for_update().order_by("pk").defer("model")
    chosen = next(each for each in held if each.pk == row.pk)
    if chosen.in_use:
        raise RunConflict(gettext("%(row)s is in use already.") % {"row": chosen})
    LearnedClassifier.objects.filter(in_use=True).update(in_use=False)
    LearnedClassifier.objects.filter(pk=chosen.pk).update(in_use=True)
    log(acting_user, chosen, CHANGE, "Put in use")
    configuration.bump()  # updates send no signals
    row.refresh_from_db(fields=["in_use"])
    return row


@transaction.atomic
def stop(row: LearnedClassifier, *, acting_user: User | None) -> LearnedClassifier:
    """Take this version out of use: questions that no rule matches are “general” again."""
    _check(acting_user, USE)
    if not LearnedClassifier.objects.filter(pk=row.pk, in_use=True).update(in_use=False):
        raise RunConflict(gettext("%(row)s is not in use.") % {"row": row})
    log(acting_user, row, CHANGE, "Taken out of use")
    configuration.bump()
    row.refresh_from_db(fields=["in_use"])
    return row


def _check(user: User | None, permission: str) -> None:
    """Raise NotPermitted unless the user may do this. None, the system itself, may."""
    if user is not None and not user.has_perm(permission):
        raise NotPermitted(gettext("You do not have permission to change the classifier."))
