"""Pages of search and answers."""

from __future__ import annotations

from django.urls import include, path

from search.pages import documents, searching, views
from search.pages.answers import threads
from search.pages.answers import views as answers

app_name = "search"
urlpatterns = [
    path("", searching.page, name="page"),
    path("library/", searching.page, {"is_library": True}, name="library"),
    path("me/", include("search.pages.me.urls")),
    path("concepts/", views.concepts, name="concepts"),
    path("searches/<uuid:search_id>/", views.interact, name="interact"),
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
]
