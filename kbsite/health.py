"""The health endpoint: for a load balancer, a container's health check, a monitor."""

from __future__ import annotations

from django.core.cache import cache
from django.db import DatabaseError, connection
from django.http import HttpRequest, JsonResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe
from redis.exceptions import RedisError


@never_cache
@require_safe
def health(request: HttpRequest) -> JsonResponse:
    """Which of the servers behind the site respond; status 503 unless all do."""
    answers = {"database": _database_answers(), "redis": _redis_answers()}
    return JsonResponse(answers, status=200 if all(answers.values()) else 503)


def _database_answers() -> bool:
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
    except DatabaseError:
        return False
    return True


def _redis_answers() -> bool:
    try:
        cache.get("health")
    except (RedisError, OSError):
        return False
    return True
