"""The vector engine that finds candidates in Postgres' place: Qdrant (docs/scale.md, ADR 83).

port        what the site asks of an engine; `client` and `edge` answer it with Qdrant's packages
engines     the engine of the settings, and whether it is left alone after a failure
points      chunks of a version as points
recording   what changed, written in the transaction that changes it: the outbox
syncing     the outbox becomes points
checking    differences between engine and database become outbox rows
rebuilding  a new collection beside the one in use, and the switch to it

Postgres stays the truth: an engine that lost everything is filled again from it.
"""
