"""The admin's theme and sidebar (django-unfold's UNFOLD setting)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.http import HttpRequest
from django.templatetags.static import static
from django.urls import reverse_lazy
from django.utils.translation import gettext_lazy as _

from kbsite.settings.parts import PART_LINES


def _may_see(app: str, model: str) -> Callable[[HttpRequest], bool]:
    """Whether the reader has any right that opens the model's list."""

    def permitted(request: HttpRequest) -> bool:
        return any(request.user.has_perm(f"{app}.{right}_{model}") for right in ("view", "change"))

    return permitted


def _is_at(path: str, *, but: str) -> Callable[[HttpRequest], bool]:
    """Whether a page is below `path`, and not below the path of a line of its own."""
    return lambda request: path in request.path and but not in request.path


def _page(title: object, icon: str, name: str, app: str, model: str) -> dict[str, Any]:
    """A line for a page that belongs to no model, open to who may see the model's list."""
    address = reverse_lazy(f"admin:{name}")
    return {"title": title, "icon": icon, "link": address, "permission": _may_see(app, model)}


def _item(title: object, icon: str, app: str, model: str, right: str = "") -> dict[str, Any]:
    """A line of the sidebar; `right` is the model whose rights open the list, if another's do."""
    return _page(title, icon, f"{app}_{model}_changelist", app, right or model)


def _for_superusers(title: object, icon: str, name: str) -> dict[str, Any]:
    """A line that only superusers see."""
    line = _page(title, icon, name, "", "")
    return {**line, "permission": lambda request: bool(request.user.is_superuser)}


def _folded(title: object, *items: dict[str, Any]) -> dict[str, Any]:
    return {"title": title, "collapsible": True, "items": list(items)}


def _asset(path: str) -> Callable[[HttpRequest], str]:
    # Not before a page asks: the manifest of static files may not exist while settings load.
    return lambda request: static(path)


def _shades(colours: str) -> dict[str, str]:
    """A palette from its colours, the lightest first."""
    shades = zip((50, *range(100, 1000, 100), 950), colours.split(", "), strict=True)
    return {str(number): f"oklch({colour})" for number, colour in shades}


UNFOLD: dict[str, Any] = {
    "SITE_TITLE": "Steelyard",
    "SITE_HEADER": "Steelyard",
    "SITE_SUBHEADER": _("Library and search"),
    "SITE_ICON": _asset("search/favicon.svg"),
    "SITE_URL": "/",
    "SITE_FAVICONS": [
        {"rel": "icon", "type": "image/svg+xml", "href": _asset("search/favicon.svg")}
    ],
    "SHOW_HISTORY": True,
    "SHOW_VIEW_ON_SITE": True,
    "STYLES": [_asset("admin/steelyard/admin.css")],
    "SCRIPTS": [_asset("admin/steelyard/keyboard.js")],
    "DASHBOARD_CALLBACK": "search.admin_front_page.dashboard",
    "COMMAND": {"search_models": False},
    # Ink and brass. White text on primary-600 and base-600 on white both pass 4.5 to 1.
    "COLORS": {
        "base": _shades(
            "98.4% .004 85, 96.4% .006 85, 91.8% .009 83, 86% .012 80, "
            "70% .014 78, 54% .016 75, 43.5% .017 72, 36% .018 70, "
            "27% .016 68, 20.5% .013 66, 14% .01 65"
        ),
        "primary": _shades(
            "97.6% .016 86, 94.6% .036 86, 89.6% .066 86, 83% .098 85, "
            "75.5% .116 82, 66.5% .114 78, 52.5% .098 74, 45.5% .086 71, "
            "39% .072 69, 34% .058 67, 24% .04 64"
        ),
    },
    "SIDEBAR": {
        "show_search": False,
        "command_search": False,
        "show_all_applications": False,
        # Groups of daily work stay open; the others are folded, except the current one.
        "navigation": [
            {
                "items": [
                    _item(_("Documents"), "description", "ingestion", "document")
                    | {"active": _is_at("/ingestion/document/", but="/ingestion/document/review/")},
                    _page(
                        _("Review"), "rule", "ingestion_document_review", "ingestion", "document"
                    ),
                    _item(_("Collections"), "library_books", "ingestion", "collection"),
                    _item(_("Imports"), "drive_folder_upload", "ingestion", "import"),
                    _item(_("Searches"), "manage_search", "analytics", "searchevent"),
                    _item(_("Search gaps"), "troubleshoot", "analytics", "gap"),
                    _item(_("Answers given"), "forum", "answers", "answer"),
                    _page(_("Workbench"), "tune", "search_workbench", "search", "searchprofile"),
                    _item(_("Golden queries"), "star", "tuning", "goldenquery"),
                ]
            },
            _folded(
                _("Library"),
                _item(_("Watched folders"), "folder_eye", "ingestion", "watchedfolder"),
                _item(_("Synced sources"), "sync", "ingestion", "syncsource"),
                _item(_("Hand edits"), "edit_note", "ingestion", "chunkedit", "document"),
                _item(_("Bin"), "delete", "ingestion", "deleteddocument", "document"),
                _item(_("Identifier patterns"), "tag", "ingestion", "identifierpattern"),
                _item(_("Embedding spaces"), "hub", "ingestion", "embeddingspace"),
            ),
            _folded(
                _("Ranking"),
                _item(_("Search profiles"), "balance", "search", "searchprofile"),
                _page(
                    _("Find better weights"),
                    "auto_awesome",
                    "tuning_optimisation_changelist",
                    "search",
                    "searchprofile",
                ),
                _item(_("Profiles by scope"), "category", "search", "scopeprofile"),
                _item(_("Synonyms"), "swap_horiz", "search", "synonym"),
                _item(_("Pins"), "push_pin", "search", "pin"),
                _item(_("Hides"), "visibility_off", "search", "hide"),
                _item(_("Classifier rules"), "rule", "search", "classrule"),
            ),
            _folded(
                _("Quality"),
                _item(_("Measurements"), "monitoring", "tuning", "evaluationrun"),
                *(_item(*line) for line in PART_LINES),
                _item(_("Publish gate"), "fence", "tuning", "publishgate"),
                _item(_("Publications"), "publish", "tuning", "publication"),
                _item(_("Profile changes"), "history", "tuning", "profilechange"),
            ),
            _folded(
                _("Answers"),
                _item(_("Answer profiles"), "edit_document", "answers", "answerprofile"),
                _item(_("Model prices"), "payments", "answers", "modelprice"),
                _item(_("Budgets"), "savings", "answers", "answerlimits"),
                _item(_("Profile changes"), "history", "answers", "answerprofilechange"),
            ),
            _folded(
                _("People"),
                _item(_("Users"), "person", "accounts", "user"),
                _item(_("Groups"), "group", "auth", "group"),
                _item(_("API tokens"), "key", "knox", "authtoken"),
                _item(_("Apps"), "apps", "allauth_idp_oidc", "client"),
                _for_superusers(_("Who sees what"), "visibility", "who_sees"),
                _for_superusers(
                    _("Second factors"), "phonelink_lock", "mfa_authenticator_changelist"
                ),
                _for_superusers(_("Sign-ons"), "login", "socialaccount_socialaccount_changelist"),
                _for_superusers(_("Audit trail"), "policy", "audit_event_changelist"),
                _item(_("Webhooks"), "webhook", "webhooks", "webhook"),
            ),
        ],
    },
}
