"""What is wrong with this installation and what to do about it: `manage.py doctor`.

machine   the programs, the settings, the disks, the clocks, mail, the parser
servers   the database, its extensions, migrations and indexes, Redis, workers and beat
library   the embedding model, the statistics, the profile, the servers of models
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from kbsite.doctor import library, machine, servers
from kbsite.doctor.findings import Finding, State

__all__ = ["Finding", "State", "examine"]

Examination = Callable[[], Iterator[Finding]]
# In the order in which to mend what they find. Those that need the database come last.
ALONE: Sequence[Examination] = (
    machine.versions,
    machine.settings_,
    machine.disks,
    machine.originals,
    machine.parser,
    machine.mail,
    servers.database,
    servers.redis_server,
)
WITH_DATABASE: Sequence[Examination] = (
    servers.read_replicas,
    servers.extensions,
    servers.migrations,
    servers.indexes,
    servers.clocks,
    servers.points,
    library.embedder,
    library.statistics,
    library.profile,
    library.models,
)
WITH_REDIS: Sequence[Examination] = (servers.workers, servers.beat)


def examine() -> Iterator[Finding]:
    """Yield all findings; what needs a server that does not answer is left out."""
    down = set()
    for examination in ALONE:
        for finding in examination():
            if finding.state is State.WRONG:
                down.add(finding.name)
            yield finding
    if "database" not in down:
        for examination in WITH_DATABASE:
            yield from _guarded(examination)
            if examination is servers.migrations and not servers.is_migrated():
                break  # the tables that the rest asks may be missing
    if "redis" not in down:
        for examination in WITH_REDIS:
            yield from _guarded(examination)


def _guarded(examination: Examination) -> Iterator[Finding]:
    """The findings; an error of the examination itself is one, and the others go on."""
    try:
        yield from examination()
    except Exception as error:
        name = examination.__name__.strip("_")
        yield Finding.wrong(
            name, f"could not be examined: {type(error).__name__}: {error}", "Look at the log."
        )
