"""The settings of processes whose work another takes over after seconds: killed workers."""

from kbsite.settings import *  # noqa: F403

INGESTION_LEASE_SECONDS = 2
