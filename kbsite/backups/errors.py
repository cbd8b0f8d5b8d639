"""The errors of backups and restores; each message says what to do."""

from common.errors import UserError


class BackupError(UserError):
    """A backup or a restore cannot be made, or must not be."""


class BackupRunning(BackupError):
    """Another backup or restore holds the lock."""


class BackupDamaged(BackupError):
    """A backup lacks an object, or one cannot be read as it was written."""


class SiteHoldsData(BackupError):
    """A restore would overwrite data, and was not told to."""
