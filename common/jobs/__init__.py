"""Background jobs (docs/adr/0031-one-way-to-work-in-the-background.md).

Job      a row with the work left to do, its lease and its attempts
enqueue  -> a message to the row's queue, after the transaction
work_on  -> runs one function under a claim
claim    -> a Lease, renewed by a thread, released at the end of its block
revoke   removes the lease: the worker stops at its next write
sweep    -> messages for idle rows that have none
"""

from common.jobs.leases import (
    BULK,
    DEFAULT,
    IMPORTS,
    INTERACTIVE,
    MAX_ATTEMPTS,
    RELEASED,
    Job,
    JobState,
    Lease,
    LeaseLost,
    claim,
    revoke,
    work_on,
)
from common.jobs.queues import enqueue, send, sweep, waiting, waiting_in

__all__ = [
    "BULK",
    "DEFAULT",
    "IMPORTS",
    "INTERACTIVE",
    "MAX_ATTEMPTS",
    "RELEASED",
    "Job",
    "JobState",
    "Lease",
    "LeaseLost",
    "claim",
    "enqueue",
    "revoke",
    "send",
    "sweep",
    "waiting",
    "waiting_in",
    "work_on",
]
