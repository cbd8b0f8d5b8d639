"""The address of Qdrant: with one every change is sent to it, also while Postgres retrieves."""

from environ import Env

env = Env()
QDRANT_URL = env.str("QDRANT_URL", default="")
QDRANT_API_KEY = env.str("QDRANT_API_KEY", default="")
PERIODIC_TASKS = (
    {
        # A changed passage is found by the engine after so many seconds, at the most.
        "search.parts.qdrant.tasks.sync": (2, "maintenance"),
        "search.parts.qdrant.tasks.check": (3600, "imports"),
        "search.parts.qdrant.tasks.sweep": (30, "maintenance"),
    }
    if QDRANT_URL
    else {}
)
