"""The admin's theme and menu (django-unfold's UNFOLD setting, and ADMIN_MENU)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.http import HttpRequest
from django.templatetags.static import static
from django.utils.translation import gettext_lazy as _

from common.admin.menu import STAFF, SUPERUSERS, MenuEntry, MenuPage
from kbsite.settings.parts import PART_PAGES


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
    "SCRIPTS": [_asset(f"admin/steelyard/{name}.js") for name in ("keyboard", "lists")],
    "DASHBOARD_CALLBACK": "search.admin_front_page.dashboard",
    "COMMAND": {"search_models": False, "search_callback": "common.admin.menu.matches"},
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
        "show_all_applications": False,
        "navigation": "common.admin.menu.navigation",
    },
    "TABS": "common.admin.menu.tabs",
}


def _part_pages(entry: str) -> list[MenuPage]:
    """The pages that optional parts add to an entry: `ADMIN_PAGES` of their settings."""
    return [MenuPage(title, name) for at, title, name in PART_PAGES if at == entry]


_RANKING = "search.searchprofile"
_LIBRARY = "ingestion.document"

# An entry of the sidebar, its icon, and its pages, which are tabs. A new page is a tab, too.
ADMIN_MENU = [
    MenuEntry(_("Overview"), "home", [MenuPage(_("Overview"), "index", STAFF)]),
    MenuEntry(_("Documents"), "description", [
        MenuPage(_("Documents"), _LIBRARY),
        MenuPage(_("Hand edits"), "ingestion.chunkedit", _LIBRARY),
    ]),
    MenuEntry(_("Collections"), "library_books", [
        MenuPage(_("Collections"), "ingestion.collection"),
    ]),
    MenuEntry(_("Imports"), "drive_folder_upload", [
        MenuPage(_("Imports"), "ingestion.import"),
        MenuPage(_("Watched folders"), "ingestion.watchedfolder"),
        MenuPage(_("Synced sources"), "ingestion.syncsource"),
    ]),
    MenuEntry(_("Due for review"), "event_available", [
        MenuPage(_("Due for review"), "ingestion_document_review", _LIBRARY),
    ]),
    MenuEntry(_("Searches"), "manage_search", [
        MenuPage(_("Searches"), "analytics.searchevent"),
        MenuPage(_("Search gaps"), "analytics.gap"),
    ]),
    MenuEntry(_("Workbench"), "tune", [MenuPage(_("Workbench"), "search_workbench", _RANKING)]),
    MenuEntry(_("Rankings"), "balance", [
        MenuPage(_("Search profiles"), _RANKING),
        MenuPage(_("By scope"), "search.scopeprofile"),
        MenuPage(_("Optimiser runs"), "tuning.optimisation", _RANKING),
        *_part_pages("Rankings"),
        MenuPage(_("Publications"), "tuning.publication"),
        MenuPage(_("Publish gate"), "tuning.publishgate", at="1/change/"),
        MenuPage(_("History of rankings"), "tuning.profilechange"),
        MenuPage(_("Other systems' rankings"), _RANKING, query="shipped=1"),
    ]),
    MenuEntry(_("Rules"), "rule", [
        MenuPage(_("Synonyms"), "search.synonym"),
        MenuPage(_("Pins"), "search.pin"),
        MenuPage(_("Hides"), "search.hide"),
        MenuPage(_("Classifier rules"), "search.classrule"),
        MenuPage(_("Identifier patterns"), "ingestion.identifierpattern"),
    ]),
    MenuEntry(_("Test questions"), "star", [
        MenuPage(_("Golden queries"), "tuning.goldenquery"),
        MenuPage(_("Measurements"), "tuning.evaluationrun"),
        *_part_pages("Test questions"),
    ]),
    MenuEntry(_("Answers"), "forum", [
        MenuPage(_("Answers given"), "answers.answer"),
        MenuPage(_("Answer settings"), "answers.answersettings", at="1/change/"),
    ]),
    MenuEntry(_("Models"), "hub", [
        MenuPage(_("Embedding spaces"), "ingestion.embeddingspace"),
        MenuPage(_("Model prices"), "answers.modelprice"),
        MenuPage(_("Budgets"), "answers.answerlimits", at="1/change/"),
    ]),
    MenuEntry(_("People"), "group", [
        MenuPage(_("Users"), "accounts.user"),
        MenuPage(_("Groups"), "auth.group"),
        MenuPage(_("Sign-ons"), "socialaccount.socialaccount", SUPERUSERS),
        MenuPage(_("Second factors"), "mfa.authenticator", SUPERUSERS),
        MenuPage(_("API tokens"), "knox.authtoken"),
        MenuPage(_("Apps"), "allauth_idp_oidc.client"),
        MenuPage(_("Who sees what"), "who_sees", SUPERUSERS),
    ]),
    MenuEntry(_("Webhooks"), "webhook", [MenuPage(_("Webhooks"), "webhooks.webhook")]),
    MenuEntry(_("Audit"), "policy", [MenuPage(_("Audit trail"), "audit.event", SUPERUSERS)]),
    MenuEntry(_("Bin"), "delete", [MenuPage(_("Bin"), "ingestion.deleteddocument", _LIBRARY)]),
]  # fmt: skip
