"""Superscripts and subscripts in plain text: "10⁶" is not "106", and "bearing³" is "bearing".

Unicode has digits and signs of both. Letters stay as they are below ("Vmax") and where they end
numbers and abbreviations ("1st", "XIXe", "Mme"); a caret parts others from a word ("bearing^a").
"""

from __future__ import annotations

SUPERSCRIPTS = str.maketrans("0123456789+-−–=()n", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁻⁻⁼⁽⁾ⁿ")
SUBSCRIPTS = str.maketrans("0123456789+-−–=()", "₀₁₂₃₄₅₆₇₈₉₊₋₋₋₌₍₎")
_SIGNS = {"tm": "™", "sm": "℠"}
_ENDINGS = frozenset(
    "st nd rd th e er ers re res ère ème ième nde es os as me mes lle lles gr o ie".split()  # noqa: SIM905
)


def superscript(text: str) -> str:
    """The text as a superscript."""
    word = text.strip()
    if not any(map(str.isalpha, word)) or all(ord(char) in SUPERSCRIPTS for char in word):
        return text.translate(SUPERSCRIPTS)
    if word.casefold() in _SIGNS:
        return text.replace(word, _SIGNS[word.casefold()])
    is_ending = word.rstrip(".,;:").casefold() in _ENDINGS
    return text if is_ending or text[:1].isspace() or len(word.split()) > 1 else f"^{text}"


def subscript(text: str) -> str:
    """The text as a subscript."""
    return text.translate(SUBSCRIPTS)
