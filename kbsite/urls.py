"""The root URL configuration, and the health endpoint."""

from __future__ import annotations

from typing import NoReturn

from django.contrib import admin
from django.contrib.auth.views import LoginView, LogoutView
from django.core.cache import cache
from django.db import DatabaseError, connection
from django.http import Http404, HttpRequest, JsonResponse
from django.urls import include, path
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


def not_found(request: HttpRequest, **arguments: str) -> NoReturn:
    raise Http404


urlpatterns = [
    # Django's redirect from a row to its page would reveal to all staff which rows exist.
    path("admin/r/<path:rest>", not_found),
    path("admin/", admin.site.urls),
    path("login/", LoginView.as_view(template_name="registration/login.html"), name="login"),
    path("logout/", LogoutView.as_view(), name="logout"),
    path("health/", health, name="health"),
    path("api/", include("search.api.urls")),
    path("", include("search.urls")),
]
