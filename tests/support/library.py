"""A small library for the tests of the pages: two public collections, one for insiders only."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

from ingestion.models import Visibility
from tests.support.database import lasting
from tests.support.factories import make_collection, make_document

CONNECTIONS = """# Database connections

How the services talk to Postgres.

## Connection pool

Each process keeps its own pool of connections. The pool is opened lazily and bounded, so that
four processes together never hold more than forty connections, however many requests arrive.

```python
def pool_size() -> int:
    return 10

class Pool:
    timeout = 5
```

## Connection timeouts

A connection that is refused fails at once; a dropped one hangs until the timeout. Set the
timeout to five seconds, turn on keepalives, and look at the firewall before the server.

| Setting | Seconds |
|---|---|
| connect_timeout | 5 |
| pool_timeout | 10 |
"""
# One passage each: the first answers a question about timeouts, the second does not.
TIMEOUTS = """# Connection timeouts

A connection that is refused fails at once; a dropped one hangs until the timeout. Set the timeout
to five seconds, turn on keepalives, and look at the firewall before the server.
"""
POOL = """# Pool size

Each process keeps ten connections of its own. The pool is opened lazily and bounded.
"""
REGIONS = """# Cave regions

## Region D40

Region D-40 is a dry gallery with a sandy floor. It is reached by a rope descent of forty
metres from the second sump, and it floods within two hours of heavy rain upstream. Leave at
once when the draught stops, and take a line: the sand gives way to mud after a wet week.

## Region E12

Nobody has measured this one since the flood. Old maps draw it as a cathedral, and the
survey of the year after found a lake in its place and turned back at the shore. Bring a boat,
a long line and somebody who can swim in cold water without a word of complaint.
"""
HOSTILE = """<html lang="en">
<head><title>On &lt;script&gt;alert(1)&lt;/script&gt; tags</title></head>
<body><p>The tag &lt;script&gt;alert(2)&lt;/script&gt; &amp; the quote " are shown as text. Escaping
them is the gondola rule of every careful page, and nobody may forget it.</p></body></html>"""
URLAUB = """# Urlaub

Der Urlaub wird mindestens vier Wochen vorher schriftlich beantragt, und die Genehmigung
erteilt die Leitung der Abteilung.
"""
SECRET = "item,answer\nzanzibar,the harbour at night\nzanzibar two,the lighthouse keeper\n"
ENTRIES = 90


def logbook() -> str:
    """A document of about ENTRIES chunks; each names its own number."""
    watch = "The watch changed at noon and the pump was greased, and nothing else was written. " * 3
    days = (f"## Entry {n}\n\nOn day {n} the barometer stood at {n + 900}. {watch}" for n in _DAYS)
    return "# The logbook\n\n" + "\n\n".join(days)


_DAYS = range(1, ENTRIES + 1)


def fill_library() -> SimpleNamespace:
    """Create the library; return its documents by a short name, all searchable."""
    handbook = make_collection("Handbook")
    ship = make_collection("Ship's papers")
    secrets = make_collection("Zanzibar", visibility=Visibility.GROUPS, groups=["insiders"])
    files: dict[str, tuple[Any, str | bytes, str]] = {
        "connections": (handbook, CONNECTIONS, "connections.md"),
        "regions": (handbook, REGIONS, "regions.md"),
        "hostile": (handbook, HOSTILE, "résumé “final”.html"),
        "urlaub": (handbook, URLAUB, "urlaub.md"),
        "logbook": (ship, logbook(), "logbook.md"),
        "secret": (secrets, SECRET, "zanzibar.csv"),
    }
    return SimpleNamespace(
        **{
            name: make_document(collection, content, file_name=file_name)
            for name, (collection, content, file_name) in files.items()
        }
    )


@contextmanager
def lasting_library(blocker: Any) -> Iterator[SimpleNamespace]:
    """The library for all tests of a module: created once, in a transaction around them."""
    with lasting(blocker):
        yield fill_library()
