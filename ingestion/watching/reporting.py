"""A watched folder's state in a line for people."""

from __future__ import annotations

from ingestion.models import WatchedFolder

# In the order in which they are told.
WORDS = {
    "added": "added",
    "changed": "changed",
    "moved": "moved",
    "deleted": "deleted",
    "duplicate": "with the bytes of another",
    "waiting": "waiting",
    "refused": "refused",
    "unreadable": "unreadable",
    "missing": "missing",
    "unchanged": "unchanged",
}


def counts_line(folder: WatchedFolder) -> str:
    """What the last look found, such as “2 added, 40 unchanged”; "" for nothing."""
    counts = folder.last_counts
    return ", ".join(f"{counts[name]:,} {word}" for name, word in WORDS.items() if counts.get(name))


def line_of(folder: WatchedFolder) -> str:
    """Path, state, what is wrong, and what the last look found."""
    said = [folder.get_state_display(), folder.message, counts_line(folder)]
    return f"{folder.pk:>4}  {folder.path}: " + "; ".join(part for part in said if part)
