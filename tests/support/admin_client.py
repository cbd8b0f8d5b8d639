"""Helpers for tests of the admin: signed-in clients, messages, and forms as served."""

from __future__ import annotations

from html.parser import HTMLParser
from typing import Any

from django.contrib.auth.models import Group, Permission
from django.contrib.messages import get_messages
from django.http import HttpResponse
from django.test import Client

from common.accounts.models import User


def staff(
    name: str, *permissions: str, groups: tuple[str, ...] = (), is_staff: bool = True
) -> User:
    """A staff user with these permissions (`change_document`) and groups, not a superuser."""
    user = User.objects.create_user(name, password=f"pw-{name}", is_staff=is_staff)
    user.user_permissions.set(Permission.objects.filter(codename__in=permissions))
    assert user.user_permissions.count() == len(permissions)
    for group in groups:
        user.groups.add(Group.objects.get_or_create(name=group)[0])
    return user


def signed_in(user: User) -> Client:
    client = Client()
    client.force_login(user)
    return client


def said(response: HttpResponse) -> str:
    """The messages that a response left for the next page."""
    return " ".join(str(message) for message in get_messages(response.wsgi_request))  # type: ignore[attr-defined]


def form_data(response: HttpResponse, form_id: str) -> dict[str, Any]:
    """The values that a browser without JavaScript would post from a form of the page."""
    reader = _FormReader(form_id)
    reader.feed(response.content.decode())
    assert reader.values, f"There is no form {form_id!r} on the page"
    return reader.values


class _FormReader(HTMLParser):
    def __init__(self, form_id: str) -> None:
        super().__init__()
        self.form_id = form_id
        self.values: dict[str, Any] = {}
        self._inside = False
        self._select = ""
        self._textarea = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = dict(attrs)
        if tag == "form":
            self._inside = attributes.get("id") == self.form_id
        if not self._inside:
            return
        name = attributes.get("name") or ""
        if tag == "input" and name:
            self._input(name, attributes)
        elif tag == "select":
            self._select = name
        elif tag == "option" and self._select and "selected" in attributes:
            self.values[self._select] = attributes.get("value") or ""
        elif tag == "textarea":
            self._textarea = name
            self.values[name] = ""

    def _input(self, name: str, attributes: dict[str, str | None]) -> None:
        kind = attributes.get("type", "text")
        if kind in ("submit", "file"):
            return
        if kind not in ("checkbox", "radio"):
            self.values[name] = attributes.get("value") or ""
        elif "checked" in attributes:
            self.values.setdefault(name, []).append(attributes.get("value") or "on")

    def handle_endtag(self, tag: str) -> None:
        if tag == "form":
            self._inside = False
        elif tag == "select":
            self._select = ""
        elif tag == "textarea":
            self.values[self._textarea] = self.values.get(self._textarea, "").lstrip("\n")
            self._textarea = ""

    def handle_data(self, data: str) -> None:
        if self._textarea:
            self.values[self._textarea] += data
