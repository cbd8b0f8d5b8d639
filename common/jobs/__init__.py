"""The one way to work in the background (docs/adr/0031-one-way-to-work-in-the-background.md).

Job      a row that says what is left to do, who does it, and since when
enqueue  -> a message to the row's queue, after the transaction
work_on  -> claim, around one function
claim    -> a Lease, renewed by a thread, given back at the end of its block
revoke   takes the lease away: the worker stops at its next write
sweep    -> messages for the rows that nobody holds and of which no message speaks
"""

from common.jobs.leases import MAX_ATTEMPTS, RELEASED, Lease, LeaseLost, claim, revoke, work_on
from common.jobs.models import BULK, DEFAULT, IMPORTS, INTERACTIVE, Job, JobState
from common.jobs.queues import enqueue, send, sweep, waiting

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
    "work_on",
]
