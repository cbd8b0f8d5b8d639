"""What commands share: a progress bar."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from tqdm import tqdm


@contextmanager
def progress(name: str) -> Iterator[Callable[[int, int], None]]:
    """A progress bar on the terminal; yields its progress callback, called with done and total."""
    with tqdm(desc=name, leave=False, disable=None) as bar:

        def report(done: int, total: int) -> None:
            bar.total = total
            bar.update(done - bar.n)

        yield report
