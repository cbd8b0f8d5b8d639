"""The icons of collections: packaged drawings by name, or one emoji."""

from __future__ import annotations

import unicodedata

from django.core.exceptions import ValidationError
from django.utils.translation import gettext

# The drawings of static/search/icons.svg.
ICONS = (
    "archive", "book", "box", "chart", "chat", "code", "flask", "folder", "gear", "globe", "map",
    "people", "scale", "shield", "wrench",
)  # fmt: skip
# What joins or changes the characters of one emoji: skin tones, the joiner, a variation, tags.
_JOINERS = frozenset({"\u200d", "\ufe0f", "\u20e3"})


def validate_icon(value: str) -> None:
    """Raise ValidationError unless it is the name of an icon or one emoji."""
    if value in ICONS or _is_emoji(value):
        return
    raise ValidationError(
        gettext("“%(icon)s” is no icon. Write one emoji, or one of: %(names)s.")
        % {"icon": value[:20], "names": ", ".join(ICONS)}
    )


def _is_emoji(value: str) -> bool:
    """Whether it is one emoji; of several joined ones, such as a family, too."""
    bases = [
        char
        for index, char in enumerate(value)
        if char not in _JOINERS
        and unicodedata.category(char) != "Sk"
        and not _is_tag(char)
        # What follows a joiner belongs to the emoji before it.
        and not (index and value[index - 1] == "\u200d")
    ]
    is_flag = len(bases) == 2 and all("\U0001f1e6" <= char <= "\U0001f1ff" for char in bases)
    if not is_flag and len(bases) != 1:
        return False
    return all(unicodedata.category(char) == "So" for char in bases)


def _is_tag(char: str) -> bool:
    return "\U000e0020" <= char <= "\U000e007f"
