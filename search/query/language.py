"""Q2: the language that a search is in, and the weights for one that the model does not know."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import replace

from ingestion.lexical.languages import TEXT_CONFIGS, text_config
from ingestion.lexical.ngrams import units
from search.domain import Classifier, Profile, Reading, Weights

# Of the vector's weight. German questions on German text with a model that knows English alone
# (xquad_de, 238 queries): nDCG@10 .930 at 1, .936 at .75, .934 at .5, .932 at .25, .926 at 0.
VECTOR_KEPT = 0.5
# By so many stop words a query must be nearer to its language than to any other. One may be a word
# of another language ("die casting"). A guess.
SURE = 2

# The first word of a letter's Unicode name -> its language. Kana tells Japanese from Chinese.
_SCRIPTS = {
    "HIRAGANA": ("ja", "Japanese"),
    "KATAKANA": ("ja", "Japanese"),
    "HANGUL": ("ko", "Korean"),
    "CJK": ("zh", "Chinese"),
    "THAI": ("th", "Thai"),
    "LAO": ("lo", "Lao"),
    "KHMER": ("km", "Khmer"),
    "MYANMAR": ("my", "Burmese"),
}
_WORDS = re.compile(r"[^\W\d_]+")


def configs_of(languages: Sequence[str]) -> tuple[str, ...]:
    """The text configurations of the languages, by their codes; not those that have none."""
    return tuple({TEXT_CONFIGS[code]: None for code in languages if code in TEXT_CONFIGS})


def unfamiliar(text: str, readings: Sequence[Reading], known: Sequence[str]) -> str:
    """The name of the language a search is in when it is none of `known`, the model's codes.

    Empty where the model knows it, knows many (`known` is empty), or nobody can tell. The
    query's own language decides where its script or its stop words tell it, otherwise the one
    that most of the searched chunks are in. A question in a language that they are not in
    changes nothing: only the model can bridge the two, as far as it can.
    """
    searched = [reading for reading in readings if reading.chunks > 0]
    if not known or not searched:
        return ""
    if script := _script(text):
        code, name = script
        held = any(reading.config == text_config(code) for reading in searched)
        return name if held and code not in known else ""
    main = max(searched, key=lambda reading: (reading.chunks, reading.config))
    config = _own(readings) or main.config
    # `simple` reads what has no configuration or was not recognised.
    is_named = config in TEXT_CONFIGS.values()
    return config.title() if is_named and config not in configs_of(known) else ""


def is_adaptive(profile: Profile) -> bool:
    """Whether the profile leaves its weights to the query. Fixed ones are meant as they are."""
    return profile.classifier is Classifier.RULES and len(set(profile.weights.values())) > 1


def leaning_on_keywords(weights: Weights) -> Weights:
    """The weights with part of the vector's share given to the keywords."""
    vector = weights.vector * VECTOR_KEPT
    return replace(weights, vector=vector, keyword=weights.keyword + weights.vector - vector)


def _own(readings: Sequence[Reading]) -> str:
    """The configuration that takes clearly most of the query's words for stop words, or empty."""
    ordered = sorted(readings, key=lambda reading: reading.words)
    if len(ordered) < 2 or ordered[1].words - ordered[0].words < SURE:
        return ""
    return ordered[0].config


def _script(text: str) -> tuple[str, str] | None:
    """The language whose script most of the text is in; None for scripts that part words."""
    letters = "".join(text[start:end] for start, end, _ in units(text))
    words = [word for word in _WORDS.findall(text) if not units(word)]
    if len(units(text)) <= len(words):
        return None
    names = {unicodedata.name(letter, "").split(" ")[0] for letter in letters}
    return next((found for name, found in _SCRIPTS.items() if name in names), None)
