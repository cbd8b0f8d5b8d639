"""The language of a search: the weights for one that the model does not know, its words."""

from __future__ import annotations

import gzip
import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from itertools import groupby

from ingestion.lexical.bigrams import characters
from ingestion.lexical.languages import (
    DEFAULT_CONFIG,
    TEXT_CONFIGS,
    language_odds,
    primary_code,
    text_config,
)
from search.domain import Candidates, Reading, Weights

# Share of the vector's weight. Russian, Chinese and German questions on their own text with an
# English-only model (250 of each xquad): mean nDCG@10 .933 at 1, .954 at .75, .956 at .5, .958 at
# .25, .955 at 0. At .25 each is above both signals alone, at .5 Russian was not (docs/adr/0113).
VECTOR_SHARE = 0.25
# The minimum lead in stop words of the query's language over any other. A single one may be a word
# of another language ("die casting"). A guess.
SURE = 2

# A question is clear about its language, and not in another, from these probabilities on, if its
# letters have so many bytes in UTF-8: 12 letters, or 4 Chinese characters. Of 2,600 English
# questions 5 are then taken for another language ("titanium dioxide"), of 1,000 German ones 2% are
# not told from English (docs/adr/0113).
CLEAR, UNLIKELY, MIN_BYTES = 0.3, 0.05, 12
# For a question with strange words: the probability that is enough if most words are not strange,
# and the share of its words that only the lists of the texts' languages have. Guesses.
VERY_CLEAR, MOST_KNOWN = 0.9, 0.7

# First word of a letter's Unicode name -> its language. Kana distinguishes Japanese from Chinese.
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
    """The text configurations of the language codes; codes without one are skipped."""
    return tuple({TEXT_CONFIGS[code]: None for code in languages if code in TEXT_CONFIGS})


def unfamiliar(text: str, readings: Sequence[Reading], supported: Sequence[str]) -> str:
    """The name of the search's language if it is not in `supported`, the model's language codes.

    Empty if the model knows it or is multilingual (`supported` is empty), or if it is unclear.
    It is the query's own if its script or stop words reveal it, otherwise that of most of the
    searched chunks. Empty, too, for a script that no searched chunk has: only the model can then
    match across languages.
    """
    searched = [reading for reading in readings if reading.chunks > 0]
    if not supported or not searched:
        return ""
    if script := _script(text):
        code, name = script
        is_searched = any(reading.config == text_config(code) for reading in searched)
        return name if is_searched and code not in supported else ""
    main = max(searched, key=lambda reading: (reading.chunks, reading.config))
    config = own_config(readings) or main.config
    # `simple` is for languages without a configuration, or not recognised.
    is_named = config in TEXT_CONFIGS.values()
    return config.title() if is_named and config not in configs_of(supported) else ""


def other_languages(
    text: str, languages: Sequence[str], supported: Sequence[str]
) -> tuple[str, frozenset[str]]:
    """The question's language, and those of `languages` in which it is not.

    Both among `supported`, the model's language codes; an empty one means all. ("", empty) if the
    question's language is unclear, as in a short question, or unknown: see CLEAR. Languages that
    share a text configuration, like Norwegian's two forms, are one.
    """
    nothing: tuple[str, frozenset[str]] = ("", frozenset())
    if len(supported) == 1 or len("".join(filter(str.isalpha, text)).encode()) < MIN_BYTES:
        return nothing
    odds = language_odds(text)
    own = next(iter(odds))
    if odds[own] < CLEAR or (supported and own not in supported):
        return nothing
    config = text_config(own)
    others = frozenset(
        language
        for language in languages
        for code in [primary_code(language)]
        if odds.get(code, 1.0) < UNLIKELY
        and (not supported or code in supported)
        and (config == DEFAULT_CONFIG or text_config(code) != config)
    )
    return (own, others) if others else nothing


@dataclass(frozen=True, slots=True)
class OtherLanguage:
    """A question's language that none of the searched texts is in, and theirs, as ISO 639-1 codes.

    `is_crossed`: the model knows the question's language, so that meaning finds answers.
    """

    question: str
    texts: tuple[str, ...]
    is_crossed: bool


def other_language(
    candidates: Candidates, words: Sequence[str], supported: Sequence[str]
) -> OtherLanguage | None:
    """The question's language if no searched text is in it; None if one may be.

    Some of the question's `words` must be strange: in no text, and not in the lists of the texts'
    languages. With three words or more it is langid's result, if clear, or very clear where most
    words are not strange; otherwise, from two words on, the language whose list has all `words`.
    `supported` are the model's languages.
    """
    text, texts = candidates.query.text, text_languages(candidates.readings)

    def is_known(word: str) -> bool:
        return any(is_listed(word, code) for code in texts)

    strange = [word for word in words if word in candidates.unknown and not is_known(word)]
    own = ""
    if script := _script(text):
        own = script[0]
    elif strange:
        is_most = 2 * len(strange) > len(words)
        spoken = _WORDS.findall(text)
        # Two misspelt words may look like another language to langid: imutable signautre.
        if len(spoken) > 2 and sum(map(is_known, spoken)) < MOST_KNOWN * len(spoken):
            odds = language_odds(text)
            first = next(iter(odds))
            is_clear = all(odds.get(each, 0.0) < UNLIKELY for each in texts)
            if is_clear and odds[first] >= (CLEAR if is_most else VERY_CLEAR):
                own = first
        if not own and is_most and len(words) > 1:
            lists = (code for code in _LISTED if code not in texts)
            own = next((code for code in lists if all(is_listed(w, code) for w in words)), "")
    if not own or not texts or own in texts or own in candidates.languages:
        return None
    return OtherLanguage(own, texts, not supported or own in supported)


def is_unlisted(text: str, readings: Sequence[Reading], supported: Sequence[str]) -> bool:
    """Whether the text has words, and no list of English or the model's languages has one of them:
    of the texts' ones, if the model is multilingual (`supported` is empty).

    A model can say little about the meaning of such names and terms.
    """
    codes = {"en", *(supported or text_languages(readings))}
    words = _WORDS.findall(text)
    return bool(words) and not any(is_listed(word, code) for word in words for code in codes)


def text_languages(readings: Sequence[Reading]) -> tuple[str, ...]:
    """The languages of the searched texts that have a configuration, most texts first."""
    codes = {config: code for code, config in reversed(TEXT_CONFIGS.items())}
    searched = (each for each in readings if each.chunks > 0 and each.config in codes)
    return tuple(codes[each.config] for each in sorted(searched, key=lambda each: -each.chunks))


_LISTED = ("en", "de", "fr", "es", "it", "pt", "nl", "ru", "ar", "fa")  # by pyspellchecker
_KEYS = re.compile(r'"(.+)":')


def is_listed(word: str, code: str) -> bool:
    """Whether ordinary use of a language knows the word, whatever the library contains.

    By pyspellchecker's lists, inflections included; False for a language without one. Of 500
    ordinary words that Django's documentation lacks, 34% had a suggestion, and 4% have one without
    those of the English list; of 373 typos that are corrected into the word meant it takes one for
    a word (ADR 54).
    """
    word = word.lower()
    return f"\n{word}\n" in _words_of(code).get(word[:2], "")


# British spellings and the American ones: colour, optimise and analyse, centre, fuelling.
_AMERICAN = (("our", "or"), ("(?<=[iy])s(?=[aei])", "z"), ("re(?=s?$)", "er"), ("ll", "l"))


def american(word: str) -> str:
    """The American spelling of a British word that the English list lacks, else ""."""
    spellings = (re.sub(british, other, word.lower()) for british, other in _AMERICAN)
    return "" if is_listed(word, "en") else next((s for s in spellings if is_listed(s, "en")), "")


@cache
def _words_of(code: str) -> dict[str, str]:
    """The words by their first two letters, each between line breaks: 2 MB for English in place of
    30 as a set. Looking through all of them takes .4 ms a word.
    """
    file = files("spellchecker") / "resources" / f"{code}.json.gz"
    if not file.is_file():
        return {}
    words = sorted(_KEYS.findall(gzip.decompress(file.read_bytes()).decode()))
    return {first: "\n".join(("", *each, "")) for first, each in groupby(words, lambda w: w[:2])}


def leaning_on_keywords(weights: Weights) -> Weights:
    """The weights with part of the vector's share moved to the keywords."""
    vector = weights.vector * VECTOR_SHARE
    return replace(weights, vector=vector, keyword=weights.keyword + weights.vector - vector)


def own_config(readings: Sequence[Reading]) -> str:
    """The configuration with clearly the most stop words in the query, or empty."""
    ordered = sorted(readings, key=lambda reading: reading.words)
    if len(ordered) < 2 or ordered[1].words - ordered[0].words < SURE:
        return ""
    return ordered[0].config


def _script(text: str) -> tuple[str, str] | None:
    """The language of the text's main script; None for scripts that separate words."""
    letters = "".join(text[start:end] for start, end, _ in characters(text))
    words = [word for word in _WORDS.findall(text) if not characters(word)]
    if len(characters(text)) <= len(words):
        return None
    names = {unicodedata.name(letter, "").split(" ")[0] for letter in letters}
    return next((language for name, language in _SCRIPTS.items() if name in names), None)
