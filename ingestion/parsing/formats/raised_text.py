"""Superscripts and subscripts in plain text: "10⁶" is not "106", and "bearing³" is "bearing".

Unicode has digits and signs of both. Letters stay as they are below ("Vmax") and where they end a
number or an abbreviation ("1st", "XIXe", "Mme"); elsewhere a caret parts them ("bearing^a").
"""

from __future__ import annotations

import re

SUPERSCRIPTS = str.maketrans("0123456789+-−–=()n", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁻⁻⁼⁽⁾ⁿ")
SUBSCRIPTS = str.maketrans("0123456789+-−–=()", "₀₁₂₃₄₅₆₇₈₉₊₋₋₋₌₍₎")
_SIGNS = {"tm": "™", "sm": "℠"}
_ORDINALS = frozenset(
    ("st", "nd", "rd", "th", "e", "er", "ers", "re", "res", "ère", "ème", "nde", "es", "os", "as")
)


def superscript(text: str, before: str) -> str:
    """The text as a superscript of the word at the end of `before`."""
    word = text.strip()
    if not any(map(str.isalpha, word)) or all(ord(char) in SUPERSCRIPTS for char in word):
        return text.translate(SUPERSCRIPTS)
    if word.casefold() in _SIGNS:
        return text.replace(word, _SIGNS[word.casefold()])
    last = "" if text[:1].isspace() else re.split(r"\W", before)[-1]
    ends_number = last[-1:].isdecimal() and word.casefold() in _ORDINALS
    is_abbreviation = (last.isupper() and word.islower()) or (len(last) == 1 and len(word) > 1)
    if not last or ends_number or is_abbreviation:
        return text
    return f"^{text}"


def subscript(text: str) -> str:
    """The text as a subscript."""
    return text.translate(SUBSCRIPTS)
