"""Languages of texts: their detection and their text search configurations."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache, lru_cache
from typing import Any

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

# Detection from a few words is unreliable; with fewer letters the default language is used.
MIN_LETTERS = 40
# A guess: below it the risk of a wrong stemmer outweighs the default configuration.
MIN_PROBABILITY = 0.9
SAMPLE_CHARS = 4_000
_NO_LANGUAGE = "zxx"  # langid's answer to a table of figures


def text_config(language: str) -> str:
    """The text configuration for an ISO 639-1 code (a region is ignored); `simple` for others."""
    return TEXT_CONFIGS.get(primary_code(language), DEFAULT_CONFIG)


def primary_code(language: str) -> str:
    """The two-letter code of a language tag: `en` for `en-GB`; empty if it has none."""
    code = language.strip().lower().replace("_", "-").split("-")[0]
    return code if len(code) == 2 else ""


def detect_language(text: str) -> str:
    """The ISO 639-1 code of `text`'s language; empty if too short or uncertain.

    Runs langid (Lui & Baldwin 2012) on a sample from the beginning and the middle, because the
    first page of a document is often front matter.
    """
    middle = len(text) // 2
    sample = text[:SAMPLE_CHARS] + " " + text[middle : middle + SAMPLE_CHARS]
    if sum(map(str.isalpha, sample)) < MIN_LETTERS:
        return ""
    code, probability = _identifier().classify(sample)
    is_sure = probability >= MIN_PROBABILITY and code != _NO_LANGUAGE
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
