"""The part “qdrant”: an engine that finds candidates in Postgres' place (docs/scale.md, ADR 83).

retrieve    the retrieval backend
points      what the site asks of an engine, and chunks of a version as points
client      answers it with Qdrant's own client
engines     the engine of the settings, and whether it is left alone after a failure
syncing     what changed, written to the outbox in the transaction that changes it; the outbox
            becomes points; the probes
rebuilding  a new collection beside the one in use, and the switch to it; differences between
            engine and database become outbox rows

Postgres stays the truth: an engine that lost everything is filled again from it.
"""
