"""Pages of search."""

from __future__ import annotations

from django.urls import path

from search.pages import views

app_name = "search"
urlpatterns = [
    path("", views.page, name="page"),
    path("searches/<uuid:search_id>/", views.interact, name="interact"),
    path("documents/<uuid:public_id>/", views.document, name="document"),
    path("documents/<uuid:public_id>/section/<int:ordinal>/", views.section, name="section"),
    path("documents/<uuid:public_id>/original/", views.original, name="original"),
]
