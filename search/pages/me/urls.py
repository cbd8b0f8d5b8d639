"""The addresses below /me/."""

from __future__ import annotations

from django.urls import path

from search.pages.me import searches, tokens, views

urlpatterns = [
    path("", views.me, name="me"),
    path("history/", views.past, name="history"),
    path("favourites/", views.favourites, name="favourites"),
    path("favourites/<uuid:public_id>/", views.star, name="star"),
    path("export/", views.export, name="export"),
    path("tokens/", tokens.own, name="tokens"),
    path("tokens/<slug:key>/revoke/", tokens.revoke, name="token-revoke"),
    path("searches/", searches.save, name="save-search"),
    path("searches/<uuid:public_id>/", searches.change, name="saved-search"),
    path("searches/<uuid:public_id>/news/", views.found, name="saved-search-news"),
    path(
        "searches/<uuid:public_id>/feed/<slug:key>/", searches.NewsFeed(), name="saved-search-feed"
    ),
    path("unsubscribe/<str:token>/", searches.unsubscribe, name="unsubscribe"),
]
