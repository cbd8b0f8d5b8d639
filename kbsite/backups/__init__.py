"""Backups: the database and the originals as of one moment, encrypted, to a folder or to S3.

    writing   copies what is new, dumps one snapshot, writes the list of it all last
    reading   lists, verifies and restores
    services  when one is due, how many are kept, which was the last

docs/adr/0072-backups.md gives the reasons, docs/backup.md the commands.
"""

from django.conf import settings

# The value of BACKUP_URL with which an administrator says that other programs make the backups.
ELSEWHERE = "elsewhere"


def is_configured() -> bool:
    """Whether this site makes its own backups."""
    return settings.BACKUP_URL not in {"", ELSEWHERE}
