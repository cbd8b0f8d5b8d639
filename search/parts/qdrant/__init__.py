"""The part “qdrant”: an engine that finds candidates in Postgres' place (docs/scale.md, ADR 83).

retrieve    the retrieval backend
port        what the site asks of an engine; `client` and `edge` answer it with Qdrant's packages
engines     the engine of the settings, and whether it is left alone after a failure
points      chunks of a version as points
recording   what changed, written in the transaction that changes it: the outbox
syncing     the outbox becomes points
checking    differences between engine and database become outbox rows
rebuilding  a new collection beside the one in use, and the switch to it

Postgres stays the truth: an engine that lost everything is filled again from it.
"""


def register() -> None:
    """Register the backend and the probes, and listen to what becomes searchable."""
    from ingestion.events import reindexed
    from search.parts.qdrant import probes  # noqa: F401 -- registers the probes
    from search.parts.qdrant.recording import record_change
    from search.parts.qdrant.retrieve import retrieve
    from search.retrieval import backends

    backends.register("qdrant", retrieve)
    reindexed.connect(record_change)
