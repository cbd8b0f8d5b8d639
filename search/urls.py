"""Pages of search and answers."""

from __future__ import annotations

from django.conf import settings
from django.urls import include, path

from common import parts
from search.pages import answer_views as answers
from search.pages import (
    appearance,
    documents,
    me,
    own_tokens,
    reviews_feed,
    saved_searches,
    search_page,
    suggestions,
    threads,
)

app_name = "search"
OWN = [
    path("", me.me, name="me"),
    path("history/", me.own_history, name="history"),
    path("favourites/", me.favourites, name="favourites"),
    path("favourites/<uuid:public_id>/", me.star, name="star"),
    path("export/", me.export, name="export"),
    path("tokens/", own_tokens.own_tokens, name="tokens"),
    path("tokens/<slug:key>/revoke/", own_tokens.revoke_token, name="token-revoke"),
    path("searches/", saved_searches.save, name="save-search"),
    path("searches/<uuid:public_id>/", saved_searches.change, name="saved-search"),
    path("reviews/<str:token>/feed/", reviews_feed.ReviewsFeed(), name="reviews-feed"),
    path("reviews/renew/", saved_searches.renew_reviews_feed, name="reviews-feed-renew"),
]
urlpatterns = [
    path("", search_page.page, name="page"),
    path("library/", search_page.page, {"is_library": True}, name="library"),
    path("appearance/", appearance.appearance, name="appearance"),
    path("suggestions/", suggestions.suggestions, name="suggestions"),
    path("opensearch.xml", suggestions.description, name="opensearch"),
    path("me/", include(OWN)),
    path("searches/<uuid:search_id>/", documents.interact, name="interact"),
    path("documents/<uuid:public_id>/", documents.document, name="document"),
    path("documents/<uuid:public_id>/section/<int:ordinal>/", documents.section, name="section"),
    path("documents/<uuid:public_id>/original/", documents.original, name="original"),
    path("documents/<uuid:public_id>/pages/<int:number>/", documents.picture, name="picture"),
    path(
        "documents/<uuid:public_id>/pages/<int:number>/mark/<int:ordinal>/",
        documents.mark,
        name="mark",
    ),
    path("answers/", answers.whole, name="answers"),
    path("answers/stream/", answers.events, name="answer-events"),
    path("answers/<uuid:answer_id>/", answers.answer, name="answer"),
    path("answers/<uuid:answer_id>/feedback/", answers.feedback, name="answer-feedback"),
    path("threads/", threads.threads, name="threads"),
    path("threads/<uuid:thread_id>/", threads.thread, name="thread"),
    path("threads/<uuid:thread_id>/share/", threads.share, name="thread-share"),
    path("threads/<uuid:thread_id>/delete/", threads.delete, name="thread-delete"),
    path("threads/<uuid:thread_id>/export/", threads.export, name="thread-export"),
    *(
        page
        for module in parts.modules_of(settings.SEARCH_PARTS, "urls")
        for page in getattr(module, "urlpatterns", ())
    ),
]
