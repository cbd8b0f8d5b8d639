"""Checks of the database and of rows in it; run by `migrate` and `check --database`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.apps import AppConfig
from django.conf import settings
from django.core.checks import CheckMessage, Error, Tags, register
from django.core.checks import Warning as CheckWarning
from django.db import DatabaseError, OperationalError, connections

from ingestion.identifiers import regex_problems

# halfvec and sparsevec, which the indexes use, were added in 0.7.
PGVECTOR_AT_LEAST = (0, 7)
POSTGRES_AT_LEAST = 16

Apps = Sequence[AppConfig] | None


@register(Tags.database)
def check_database(
    app_configs: Apps, databases: Sequence[str] | None = None, **kwargs: Any
) -> list[CheckMessage]:
    """Postgres and pgvector must be recent enough. Run by `migrate` and `check --database`."""
    problems: list[CheckMessage] = []
    for alias in databases or ():
        try:
            with connections[alias].cursor() as cursor:
                cursor.execute("SHOW server_version_num")
                postgres = int(cursor.fetchone()[0]) // 10_000
                cursor.execute(
                    "SELECT default_version FROM pg_available_extensions WHERE name = 'vector'"
                )
                found = cursor.fetchone()
        except OperationalError:
            continue  # the command itself reports that the server is down
        problems += _database_problems(postgres, found[0] if found else "")
    return problems


def _database_problems(postgres: int, pgvector: str) -> list[CheckMessage]:
    """The errors for this major version of Postgres and version of pgvector; empty if none."""
    problems: list[CheckMessage] = []
    if postgres < POSTGRES_AT_LEAST:
        problems.append(
            Error(
                f"The database is Postgres {postgres}; {POSTGRES_AT_LEAST} or newer is needed.",
                hint="Upgrade it, or set DATABASE_URL to a newer server.",
                id="steelyard.E004",
            )
        )
    if tuple(map(int, pgvector.split(".")[:2] if pgvector else "0")) < PGVECTOR_AT_LEAST:
        problems.append(
            Error(
                f"The database has pgvector {pgvector}; 0.7 or newer is needed."
                if pgvector
                else "The database server has no pgvector.",
                hint="Install the package postgresql-NN-pgvector, or use an image with it.",
                id="steelyard.E005",
            )
        )
    return problems


@register(Tags.database)
def check_active_space(
    app_configs: Apps, databases: Sequence[str] | None = None, **kwargs: Any
) -> list[CheckMessage]:
    """Warn if the settings name another model than the active space, or do not allow a space's."""
    from ingestion.models import EmbeddingSpace
    from ingestion.spaces.allowed import why_refused
    from ingestion.spaces.report import overview

    if "default" not in (databases or ()):
        return []
    try:
        spaces = list(EmbeddingSpace.objects.all())
    except DatabaseError:
        return []  # before the first migrate, or the command reports that the server is down
    if not spaces:
        return []
    refused = [(space, reason) for space in spaces if (reason := why_refused(space.config))]
    return [
        *(CheckWarning(text, id="steelyard.W006") for text in overview(spaces)),
        *(CheckWarning(f"{space}: {reason}", id="steelyard.W021") for space, reason in refused),
    ]


@register(Tags.database)
def check_expressions(
    app_configs: Apps, databases: Sequence[str] | None = None, **kwargs: Any
) -> list[CheckMessage]:
    """Warn of expressions from before RE2 that it lacks: they match nothing."""
    from ingestion.models import IdentifierPattern
    from search.models import ClassRule, SearchProfile
    from search.query.rule_classifier import pattern_problems
    from search.ranking.boosts import anchor_problem, parse_boosts

    if "default" not in (databases or ()):
        return []
    try:
        profiles = SearchProfile.objects.exclude(state=SearchProfile.State.RETIRED)
        found: list[tuple[str, object, list[str]]] = [
            ("identifier pattern", row, regex_problems(row.regex))
            for row in IdentifierPattern.objects.all()
        ]
        found += [
            ("classifier rule", rule, pattern_problems(rule.pattern))
            for rule in ClassRule.objects.exclude(pattern="")
        ]
        found += [
            ("bypass of", profile, regex_problems(profile.bypass))
            for profile in profiles.exclude(bypass="")
        ]
        found += [
            (f"anchor of the boost “{boost.name}” of", profile, [problem])
            for profile in profiles.exclude(boosts=[])
            for boost in parse_boosts(profile.boosts)
            if (problem := anchor_problem(boost))
        ]
    except DatabaseError:
        return []  # before migrate, or the command reports that the server is down
    return [
        CheckWarning(
            f"The {kind} “{row}” matches nothing: {problems[0]}",
            hint="Change it in the admin. Documents follow when they are reprocessed.",
            id="steelyard.W022",
        )
        for kind, row, problems in found
        if problems
    ]


@register(Tags.database)
def check_signals(
    app_configs: Apps, databases: Sequence[str] | None = None, **kwargs: Any
) -> list[CheckMessage]:
    """Warn if the active profile weighs WordNet or concepts, and their data is missing."""
    from ingestion.lexical import concepts
    from search.models import ClassWeights, SearchProfile
    from search.query.wordnet import opened

    if "default" not in (databases or ()):
        return []
    problems: list[CheckMessage] = []
    try:
        weights = ClassWeights.objects.filter(profile__state=SearchProfile.State.ACTIVE)
        if opened(settings.WORDNET_DIR) is None and weights.filter(wordnet__gt=0).exists():
            problems.append(
                CheckWarning(
                    f"The active profile weighs WordNet, which is not in {settings.WORDNET_DIR}.",
                    hint="On Debian: sudo apt-get install wordnet-base. Elsewhere set WORDNET_DIR.",
                    id="steelyard.W012",
                )
            )
        lacking = next(concepts.waiting(), None) is not None
        if lacking and weights.filter(concept__gt=0).exists():
            problems.append(
                CheckWarning(
                    "The active profile weighs concepts, which some documents do not have yet.",
                    hint="Run: manage.py concepts",
                    id="steelyard.W013",
                )
            )
    except DatabaseError:
        return []  # before migrate, or the command reports that the server is down
    return problems
