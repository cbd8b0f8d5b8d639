"""All that belongs to a reader, as one JSON object."""

from __future__ import annotations

from typing import Any

from common.accounts import tokens
from common.accounts.models import User
from search.analytics.models import SearchEvent
from search.readers import history, saving
from search.readers.models import SavedSearch


def own_data(user: User) -> dict[str, Any]:
    """The reader's account, history, saved searches, favourites, tokens and recorded searches.

    Without secrets: no password, no token, no feed's address. Conversations are exported by their
    own pages.
    """
    return {
        "account": {
            "username": user.get_username(),
            "email": user.email,
            "first_name": user.first_name,
            "last_name": user.last_name,
            "joined": user.date_joined.isoformat(),
        },
        "keeps_history": history.is_kept(user),
        "history": [
            {"question": entry.question, "filters": entry.params, "at": entry.at.isoformat()}
            for entry in history.of(user)
        ],
        "saved_searches": [_saved(search) for search in saving.of(user)],
        "favourites": [
            {"id": str(document.public_id), "title": document.title}
            for document in saving.favourites_of(user)
        ],
        "tokens": [
            {
                "key": row.token_key,
                "name": grant.name if (grant := getattr(row, "grant", None)) else "",
                "scopes": list(grant.scopes) if grant else [],
                "created": row.created.isoformat(),
                "expiry": row.expiry.isoformat() if row.expiry else None,
            }
            for row in tokens.alive(user)
        ],
        "recorded_searches": [
            {"question": query, "at": at.isoformat(), "channel": channel}
            for query, at, channel in SearchEvent.objects.filter(user=user.pk).values_list(
                "query", "at", "channel"
            )
        ],
    }


def _saved(search: SavedSearch) -> dict[str, Any]:
    return {
        "name": search.name,
        "question": search.question,
        "filters": search.params,
        "mails": search.mails,
        "has_feed": bool(search.feed_key),
        "created": search.created.isoformat(),
    }
