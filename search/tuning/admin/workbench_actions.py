"""Requests of the workbench: permissions and the draft sent with each; and its actions.

The actions: rebuild pools, save, judge.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any
from uuid import UUID

from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import get_object_or_404
from django.urls import reverse
from django.utils.translation import gettext
from django.views.decorators.http import require_POST

from common.accounts.models import User
from common.admin.mixins import actor, whole_number
from ingestion.models import Document
from search.domain import Profile
from search.engine import configuration
from search.errors import SearchError
from search.models import SearchProfile
from search.tuning import candidate_pool_building, drafts, judging
from search.tuning.admin.forms import WorkbenchForm
from search.tuning.candidate_pools import Width
from search.tuning.models import GoldenQuery

VIEW, CHANGE, JUDGE = (
    "search.view_searchprofile",
    "search.change_searchprofile",
    "tuning.add_judgement",
)
MAX_BODY = 64 * 1024
JsonAnswer = dict[str, Any]


def check(request: HttpRequest, *permissions: str) -> None:
    """Raises PermissionDenied unless the person may see profiles and has the permissions."""
    user = request.user
    may_see = user.has_perm(VIEW) or user.has_perm(CHANGE)
    if not may_see or not user.has_perms(permissions):
        raise PermissionDenied


def asking(
    *permissions: str,
) -> Callable[[Callable[..., JsonAnswer]], Callable[[HttpRequest], HttpResponse]]:
    """A decorator that makes a JSON view of a function from posted JSON to the answer.

    It refuses people without access to the workbench or a permission, and returns the message of a
    SearchError.
    """

    def decorated(answer: Callable[..., JsonAnswer]) -> Callable[[HttpRequest], HttpResponse]:
        @require_POST
        @wraps(answer)
        def view(request: HttpRequest) -> HttpResponse:
            check(request, *permissions)
            posted = posted_in(request)
            if posted is None:
                return JsonResponse({"error": gettext("Send a JSON object.")}, status=400)
            try:
                return JsonResponse(answer(request, posted))
            except InvalidDraft as error:
                return JsonResponse({"problems": error.problems}, status=422)
            except SearchError as error:
                return JsonResponse({"error": str(error)}, status=409)

        return view

    return decorated


class InvalidDraft(Exception):
    """The draft's controls have invalid values; `problems` are by field."""

    def __init__(self, problems: Mapping[str, list[str]]) -> None:
        super().__init__("; ".join(text for texts in problems.values() for text in texts))
        self.problems = problems


def posted_in(request: HttpRequest) -> JsonAnswer | None:
    if len(request.body) > MAX_BODY:
        return None
    try:
        value = json.loads(request.body)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def form_of(posted: JsonAnswer, *, is_saving: bool = False) -> WorkbenchForm:
    values = posted.get("values")
    rows = SearchProfile.objects.prefetch_related("class_weights")
    row = get_object_or_404(rows, pk=whole_number(posted.get("profile")))
    data = values if isinstance(values, dict) else {}
    return WorkbenchForm({k: str(v) for k, v in data.items()}, instance=row, is_saving=is_saving)


def draft_of(posted: JsonAnswer) -> tuple[Profile, SearchProfile]:
    """The profile described by the controls, and the row that it edits.

    Raises InvalidDraft.
    """
    form = form_of(posted)
    if not form.is_valid():
        raise InvalidDraft(form.problems())
    return form.trial(), form.instance


def collections_of(posted: JsonAnswer) -> tuple[str, ...]:
    slugs = posted.get("collections")
    return tuple(map(str, slugs)) if isinstance(slugs, list) else ()


def document_of(request: HttpRequest, posted: JsonAnswer) -> Document:
    try:
        public_id = UUID(str(posted.get("document")))
    except ValueError as error:
        raise Http404 from error
    return get_object_or_404(Document.objects.visible_to(request.user), public_id=public_id)


# --- actions -------------------------------------------------------------------------------


@asking()
def pools_view(request: HttpRequest, posted: JsonAnswer) -> JsonAnswer:
    """Measure: build the candidate pools of the golden queries in the background."""
    draft, _ = draft_of(posted)
    active = configuration.current().profile()
    for width in dict.fromkeys((Width.of(active), Width.of(draft))):
        candidate_pool_building.enqueue(width)
    return {"building": 0.0}


@asking(CHANGE)
def save_view(request: HttpRequest, posted: JsonAnswer) -> JsonAnswer:
    """Save the draft, or a new draft of a published profile."""
    user = actor(request)
    with transaction.atomic():
        form = form_of(posted, is_saving=True)
        if not form.is_valid():
            raise InvalidDraft(form.problems())
        base = SearchProfile.objects.get(pk=form.instance.pk)
        edit = drafts.edit(
            base,
            *form.values,
            acting_user=user,
            reason=form.cleaned_data["reason"].strip(),
        )
    return {
        "profile": edit.profile.pk,
        "name": str(edit.profile),
        "stamp": drafts.edit_stamp(edit.profile),
        "changes": len(edit.changes),
        "is_new": edit.is_new_draft,
        "publish": reverse("admin:search_searchprofile_publish", args=[edit.profile.pk]),
    }


@asking(JUDGE)
@transaction.atomic
def judge_view(request: HttpRequest, posted: JsonAnswer) -> JsonAnswer:
    """Judge a document for the query: a grade, `clear`, `first` or `not-first`.

    The answer's `undo` is the request that takes it back.
    """
    user, action = actor(request), str(posted.get("action"))
    document = document_of(request, posted)
    text, collections = str(posted.get("text", "")).strip(), collections_of(posted)
    query = judging.find_query(text, collections, viewer=user)
    undo = {"text": text, "collections": collections, "document": str(document.public_id)}
    undo |= _inverse(query, document, action, user)
    if action == "clear":
        cleared = query is not None and judging.clear(query, document, acting_user=user)
        removed, nothing = gettext("Your grade was removed."), gettext("You have not graded this.")
        said = removed if cleared else nothing
    elif action in ("first", "not-first"):
        if posted.get("expected", _first_id(query)) != _first_id(query):
            message = gettext(
                "Another person has since changed the must-be-first document of “%(text)s”; it "
                "was kept."
            )
        elif action == "first":
            judging.set_must_be_first(text, collections, document, acting_user=user)
            message = gettext("%(title)s must be first for “%(text)s”.")
        else:
            judging.set_must_be_first(text, collections, None, acting_user=user)
            message = gettext("“%(text)s” no longer has a must-be-first document.")
        said = message % {"title": document.title, "text": text}
    else:
        grade, note = whole_number(action), str(posted["note"]) if "note" in posted else None
        judging.judge(text, collections, document, grade, acting_user=user, note=note)
        words = {"grades": judging.GRADES[grade], "title": document.title}
        said = gettext("%(grades)s: %(title)s") % words
    if query is not None and posted.get("undoes"):
        judging.drop_bare(query, acting_user=user)
    return {"said": said, "undo": undo}


def _inverse(
    query: GoldenQuery | None, document: Document, action: str, user: User
) -> dict[str, str]:
    """The part of a request that takes `action` back, if no other person changed it since."""
    if action in ("first", "not-first"):
        before, after = _first_id(query), str(document.public_id) if action == "first" else ""
        back = {"action": "first", "document": before} if before else {"action": "not-first"}
        return {**back, "expected": after}
    own = query and judging.own_judgement(query, document, user)
    return {"action": str(own.grade), "note": own.note} if own else {"action": "clear"}


def _first_id(query: GoldenQuery | None) -> str:
    """The public id of the document that must be first; empty without one."""
    first = query and query.must_be_first
    return str(first.public_id) if first else ""
