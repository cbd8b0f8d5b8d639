"""Variables of several entries: QUOTA_USER, QUOTA_TOKEN, THROTTLE."""

from __future__ import annotations

import pytest
from django.core.exceptions import ImproperlyConfigured

from kbsite.settings.environment import entries

DEFAULT = {"searches": 0, "answers": 5}


def test_entries_replace_their_defaults(monkeypatch: pytest.MonkeyPatch) -> None:
    assert entries("QUOTA_TEST", DEFAULT) == DEFAULT
    monkeypatch.setenv("QUOTA_TEST", "searches=500")
    assert entries("QUOTA_TEST", DEFAULT) == {"searches": 500, "answers": 5}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("searchs=500", "QUOTA_TEST has no searchs. Its entries: searches=0,answers=5"),
        ("searches=many", "QUOTA_TEST is written as searches=0,answers=5"),
        ("500", "QUOTA_TEST is written as searches=0,answers=5"),
    ],
)
def test_others_are_refused_in_words(
    monkeypatch: pytest.MonkeyPatch, text: str, words: str
) -> None:
    monkeypatch.setenv("QUOTA_TEST", text)
    with pytest.raises(ImproperlyConfigured, match=words):
        entries("QUOTA_TEST", DEFAULT)
