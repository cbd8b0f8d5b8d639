"""All that belongs to one reader, as one export."""

from __future__ import annotations

from typing import Any

from django.db.models import F

from common.accounts import tokens
from common.accounts.models import User
from search.analytics.models import SearchEvent
from search.readers.favourites import favourites_of
from search.readers.history import history_of, keeps_history
from search.readers.saved_searches import searches_of


def own_data(user: User) -> dict[str, Any]:
    """The reader's account, history, saved searches, favourites, tokens and recorded searches.

    Without secrets: no password, no token. Conversations are exported by their
    own pages.
    """
    return {
        "account": {
            "username": user.get_username(),
            "email": user.email,
            "first_name": user.first_name,
            "last_name": user.last_name,
            "joined": user.date_joined,
        },
        "keeps_history": keeps_history(user),
        "history": list(history_of(user).values("question", "at", filters=F("params"))),
        "saved_searches": list(
            searches_of(user).values("name", "question", "created", filters=F("params"))
        ),
        "favourites": [
            {"id": str(document.public_id), "title": document.title}
            for document in favourites_of(user)
        ],
        "tokens": [
            {
                "key": row.token_key,
                "name": grant.name if (grant := getattr(row, "grant", None)) else "",
                "scopes": list(grant.scopes) if grant else [],
                "created": row.created,
                "expiry": row.expiry,
            }
            for row in tokens.alive(user)
        ],
        "recorded_searches": list(
            SearchEvent.objects.filter(user=user.pk).values("at", "channel", question=F("query"))
        ),
    }
