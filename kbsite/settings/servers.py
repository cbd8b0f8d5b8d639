"""Database, cache, broker and queues."""

from __future__ import annotations

from typing import Any

from kombu.entity import Queue
from redis.backoff import NoBackoff
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.retry import Retry

from common import database
from kbsite.embedded import EmbeddedServers
from kbsite.settings.environment import VAR_DIR, env

EMBEDDED = EmbeddedServers(VAR_DIR)
DATABASE_URL = env.str("DATABASE_URL", default="")
REDIS_URL = env.str("REDIS_URL", default="")
EMBEDDED_POSTGRES = not DATABASE_URL
EMBEDDED_REDIS = not REDIS_URL

_database: dict[str, Any] = (
    dict(env.db_url_config(DATABASE_URL)) if DATABASE_URL else dict(EMBEDDED.database_settings())
)
_options: dict[str, object] = dict(_database.get("OPTIONS", {}))
# JIT compilation of a search takes longer than the search itself. Those of HNSW are for what looks
# for nearest passages besides: a search sets its own.
_options["options"] = (
    f"{_options.get('options', '')} -c jit=off -c plan_cache_mode=force_generic_plan"
    " -c hnsw.ef_search=400 -c hnsw.iterative_scan=relaxed_order"
).strip()
# Seconds to wait for the database. Redis gets less still.
_patience = database.patience
# A connection to a server that disappeared fails within a minute; the system's default is hours.
_tcp = {
    "connect_timeout": max(2, round(_patience)),  # libpq takes 1 for 2
    "keepalives_idle": 30,
    "keepalives_interval": 10,
}
_options = {**_tcp, "keepalives_count": 3, "tcp_user_timeout": 60_000, **_options}
# Threads of a web process for all synchronous work, and the most connections of any process.
# Guesses: more than a process has cores, because a thread waits for the database, too.
WEB_THREADS = 8
# Seconds between a request and its answer beyond which the site plans no answer but refuses it: a
# guess.
WEB_PATIENCE = 1.0
_pool_size = env.int("DATABASE_POOL", default=10)
if _pool_size:
    # Attempts come less and less often: after `reconnect_timeout` the next request begins anew.
    _waits = {"timeout": _patience, "reconnect_timeout": _patience}
    _size = {"min_size": 0, "max_size": _pool_size}
    _options["pool"] = {**_size, **_waits, "connection_class": database.Checked}
# Whether searches and the reading of words use prepared statements, which belong to one
# connection: not behind a pooler that hands connections on after each transaction (PgBouncer's
# transaction mode).
PREPARED_STATEMENTS = env.bool("DATABASE_PREPARED_STATEMENTS", default=True)
# After a database restart only the requests in progress fail, not one per pooled connection.
DATABASES = {"default": {**_database, "CONN_HEALTH_CHECKS": True, "OPTIONS": _options}}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

CELERY_BROKER_URL = REDIS_URL.replace("unix://", "socket://") or EMBEDDED.broker_url
_is_socket = CELERY_BROKER_URL.startswith("socket:")
CELERY_BROKER_TRANSPORT = f"kbsite.celery:{'SocketTransport' if _is_socket else 'Transport'}"
# Redis answers within milliseconds, also over a network: a reader waits no longer for one that
# hangs. A connection from before its restart is replaced without a word.
_redis_patience = {"socket_timeout": 1.0, "socket_connect_timeout": 1.0}
CACHES = {
    "default": {
        "BACKEND": "kbsite.cache.GuardedRedisCache",
        "LOCATION": REDIS_URL or EMBEDDED.cache_url,
        "KEY_PREFIX": "steelyard",
        "OPTIONS": {
            **_redis_patience,
            "retry": Retry(NoBackoff(), 1, supported_errors=(RedisConnectionError,)),
        },
    }
}

# --- Celery ---
CELERY_TASK_IGNORE_RESULT = True
CELERY_TASK_ACKS_LATE = True
CELERY_TASK_REJECT_ON_WORKER_LOST = True
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
CELERY_WORKER_CONCURRENCY = env.int("WORKER_CONCURRENCY", default=2)
# In the order in which a worker empties them (ADR 31). `celery` is the default
# queue of tasks that name none.
CELERY_TASK_QUEUES = [
    Queue(name, routing_key=name)  # type: ignore[no-untyped-call]
    for name in ("interactive", "maintenance", "celery", "imports", "bulk")
]
# A worker process above this size (in kB) is replaced after the document in progress.
CELERY_WORKER_MAX_MEMORY_PER_CHILD = 900_000
CELERY_WORKER_HIJACK_ROOT_LOGGER = False
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
# Publishing must fail fast while the broker is down: the sweep enqueues again from the database.
CELERY_BROKER_TRANSPORT_OPTIONS = {
    "visibility_timeout": 3600,
    # In workers more than the second that their BRPOP waits for a message.
    "socket_timeout": 3 if _patience > 3 else 1,
    "socket_connect_timeout": 3 if _patience > 3 else 1,
    "queue_order_strategy": "priority",
}
CELERY_TASK_PUBLISH_RETRY_POLICY = {"max_retries": 1, "interval_start": 0.1}
