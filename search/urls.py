"""Pages of search."""

from __future__ import annotations

from django.urls import path

from search import views

app_name = "search"
urlpatterns = [
    path("", views.page, name="page"),
    path("documents/<uuid:public_id>/", views.document, name="document"),
    path("documents/<uuid:public_id>/original/", views.original, name="original"),
]
