"""Languages of texts: their detection and their text search configurations."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache, lru_cache
from typing import Any
from unicodedata import normalize

# Postgres' built-in snowball configurations by ISO 639-1 code (pg_ts_config, Postgres 16-18).
TEXT_CONFIGS = {
    "ar": "arabic",
    "hy": "armenian",
    "eu": "basque",
    "ca": "catalan",
    "da": "danish",
    "nl": "dutch",
    "en": "english",
    "fi": "finnish",
    "fr": "french",
    "de": "german",
    "el": "greek",
    "hi": "hindi",
    "hu": "hungarian",
    "id": "indonesian",
    "ga": "irish",
    "it": "italian",
    "lt": "lithuanian",
    "ne": "nepali",
    "no": "norwegian",
    "nb": "norwegian",
    "nn": "norwegian",
    "pt": "portuguese",
    "ro": "romanian",
    "ru": "russian",
    "sr": "serbian",
    "es": "spanish",
    "sv": "swedish",
    "ta": "tamil",
    "tr": "turkish",
    "yi": "yiddish",
}
DEFAULT_CONFIG = "simple"

# Detection from a few words is unreliable; with fewer bytes of letters the default language is
# used: 40 letters of the Latin alphabet, 14 Chinese characters.
MIN_BYTES = 40
# A text is in a language from the first probability on, and from the second on if that of the
# default language is at most the third: then the default's stemmer is wrong in any case. Of 240
# beginnings of 60 characters (xquad), told so: Spanish 83% (by .9 alone, among dialects, 21%),
# German 95% (85%), Russian 95% (69%), Chinese all (38%), 2 of these 960 wrongly; of 2,400 in
# English 1 wrongly (0).
MIN_PROBABILITY, LIKELY, UNLIKELY = 0.9, 0.6, 0.01
SAMPLE_CHARS = 4_000
_NO_LANGUAGE = "zxx"  # langid's answer to a table of figures


def text_config(language: str) -> str:
    """The text configuration for an ISO 639-1 code (a region is ignored); `simple` for others."""
    return TEXT_CONFIGS.get(primary_code(language), DEFAULT_CONFIG)


def primary_code(language: str) -> str:
    """The two-letter code of a language tag: `en` for `en-GB`; empty if it has none."""
    code = language.strip().lower().replace("_", "-").split("-")[0]
    return code if len(code) == 2 else ""


def detect_language(text: str, default: str = "en") -> str:
    """The ISO 639-1 code of `text`'s language; empty if too short or uncertain.

    Runs langid (Lui & Baldwin 2012) on a sample from the beginning and the middle, because the
    first page of a document is often front matter. Its dialects with codes of three letters,
    such as Egypt's Arabic, take no part: their texts are the language's.
    """
    middle = len(text) // 2
    # Latin letters of full width are no Chinese.
    sample = normalize("NFKC", text[:SAMPLE_CHARS] + " " + text[middle : middle + SAMPLE_CHARS])
    if len("".join(filter(str.isalpha, sample)).encode()) < MIN_BYTES:
        return ""
    ranked = _identifier().rank(sample)
    odds = {code: p for code, p in ranked if len(code) == 2 or code == _NO_LANGUAGE}
    code, probability = next(iter(odds.items()))
    least = LIKELY if odds.get(default, 0.0) <= UNLIKELY else MIN_PROBABILITY
    is_sure = probability >= least * sum(odds.values()) and code != _NO_LANGUAGE
    return str(code) if is_sure else ""


@lru_cache(maxsize=4096)  # the workbench ranks the same questions at every move of a slider
def language_odds(text: str) -> Mapping[str, float]:
    """The probability of each language (ISO 639) that langid knows, the most probable first.

    0.1 ms for a question; the first call of a process loads langid, 0.8 s.
    """
    return dict(_identifier().rank(text[:SAMPLE_CHARS]))


@cache
def _identifier() -> Any:
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    return LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
