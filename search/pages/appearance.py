"""The theme and the language of the readers' pages, as a reader chose them: two cookies."""

from __future__ import annotations

from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_POST
from django.views.i18n import set_language

THEME = "theme"
THEMES = ("light", "dark")
YEAR = 365 * 24 * 60 * 60


# It changes nothing but how this browser shows the pages, and readers who are not signed in have no
# cookie for a token.
@csrf_exempt
@require_POST
def appearance(request: HttpRequest) -> HttpResponseBase:
    """Keep the posted language or theme, and return to the page that the browser names.

    No theme is the system's.
    """
    response = set_language(request)
    theme = request.POST.get(THEME)
    if theme in THEMES:
        response.set_cookie(THEME, theme, max_age=YEAR, samesite="Lax", httponly=True)
    elif theme is not None:
        response.delete_cookie(THEME, samesite="Lax")
    return response
