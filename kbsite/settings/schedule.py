"""What beat starts, how often, and in which queue."""

from __future__ import annotations

from typing import Any

from kbsite.settings.environment import VAR_DIR
from kbsite.settings.parts import PART_TASKS


def _every(seconds: float, task: str, queue: str = "maintenance") -> dict[str, Any]:
    """A beat entry. A message that no worker takes within one period expires."""
    options = {"expires": seconds, "queue": queue}
    return {"task": task, "schedule": seconds, "options": options}


CELERY_BEAT_SCHEDULE = {
    "refresh-sign-on": _every(60, "kbsite.tasks.refresh_sign_on"),
    "forget-usage": _every(86_400, "kbsite.tasks.forget_usage"),
    "forget-sessions": _every(600, "kbsite.tasks.forget_sessions"),
    "forget-audit": _every(86_400, "kbsite.tasks.forget_events"),
    "sweep": _every(10, "ingestion.tasks.sweep"),
    "purge-bin": _every(3600, "ingestion.tasks.purge_bin", "imports"),
    "look-at-folders": _every(5, "ingestion.tasks.look_at_folders"),
    "fold-statistics": _every(30, "ingestion.tasks.fold_statistics"),
    "sweep-runs": _every(30, "search.tasks.sweep_runs"),
    "measure-backgrounds": _every(60, "search.tasks.measure_backgrounds"),
    "refresh-pools": _every(60, "search.tasks.refresh_pools"),
    "make-examples": _every(120, "search.tasks.make_examples", "imports"),
    "gather-gaps": _every(120, "search.tasks.gather_gaps"),
    "forget-answers": _every(900, "search.tasks.forget_answers"),
    "forget-searchers": _every(3600, "search.tasks.forget_searchers"),
    "forget-history": _every(3600, "search.tasks.forget_history"),
    "remind-owners": _every(600, "search.tasks.remind_owners"),
    # Checked often, not scheduled at the hour: a beat that was down then does not skip the run.
    "run-nightly": _every(300, "search.tasks.run_nightly"),
    "watch-quality": _every(60, "search.tasks.watch_quality"),
}
CELERY_BEAT_SCHEDULE |= {
    task: _every(seconds, task, queue) for task, (seconds, queue) in PART_TASKS.items()
}
CELERY_BEAT_SCHEDULE_FILENAME = str(VAR_DIR / "celerybeat-schedule")
