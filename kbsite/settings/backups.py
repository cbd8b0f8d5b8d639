"""Backups: where to, when, how many, and their key."""

from __future__ import annotations

from kbsite.settings.environment import VAR_DIR, env

# A folder, s3://BUCKET/PREFIX, or “elsewhere” if other programs make the backups; empty: none.
BACKUP_URL = env.str("BACKUP_URL", default="")
BACKUP_KEY_FILE = env.str("BACKUP_KEY_FILE", default=str(VAR_DIR / "backup_key"))
# Time (TIME_ZONE) of the daily backup; empty: by command only.
BACKUP_AT = env.str("BACKUP_AT", default="02:00")
# For how many days the newest backup of each is kept, and for how many weeks.
BACKUP_DAYS = max(1, env.int("BACKUP_DAYS", default=14))
BACKUP_WEEKS = max(0, env.int("BACKUP_WEEKS", default=8))
# Age of the last good backup from which the checks and the admin warn.
BACKUP_LATE_HOURS = max(1, env.int("BACKUP_LATE_HOURS", default=36))
# The directory of pg_dump and psql; empty: the embedded wheel's, else those on the PATH.
BACKUP_PROGRAMS = env.str("BACKUP_PROGRAMS", default="")
