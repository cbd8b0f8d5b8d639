"""Questions that no passage answers by itself: courtesies, lists, counts, comparisons. Pure.

They are recognised by their words, in English and German.
"""

from __future__ import annotations

import re
from enum import Enum, auto

from search.answers.content_words import STOP, content, words


class Form(Enum):
    """COURTESY: it asks nothing. COUNT: how many documents. LIST: documents, or all of a kind."""

    COURTESY = auto()
    COUNT = auto()
    LIST = auto()


_DOCUMENTS = r"(?:documents?|files?|papers|dokumente?|dateien|unterlagen)"
_FORMS = (
    (
        Form.COURTESY,
        r"(?:(?:hello|hi|hey|hallo|moin|there|good (?:morning|afternoon|evening)"
        r"|guten (?:morgen|tag|abend)|thanks|thank you|thx|danke|vielen dank|a lot|so much"
        r"|very much|schön|sehr|again|help|help me|hilfe|ok|okay|great|bye|tschüss|please"
        r"|who are you|what can you do|wer bist du|was kannst du)\b\W*)+",
    ),
    (Form.COUNT, rf"(?:how many|wie viele) {_DOCUMENTS}\b.*"),
    (
        Form.LIST,
        r"(?:please )?(?:list|show(?: me)?|give me|name|zeige?(?: mir)?|nenne?|liste) "
        rf"(?:all|every|everything|alle|alles)\b.*|(?:which|what|welche) {_DOCUMENTS}\b.*",
    ),
)
# A question that a number answers, in English and German.
NUMBER = re.compile(
    r"\bhow (?:many|much|long|often|large|big|far|old|tall|high)\b|\bwhat port\b"
    r"|\bwh(?:at|ich) (?:is|are|was) the (?:cost|fee|fine|number|price|rate|salary)\b"
    r"|\bwhat (?:do|does|did) .+ cost\b|\bwie (?:viele?|lange|oft|groß|weit|alt|hoch|teuer)\b",
    re.IGNORECASE,
)
_SIDES = tuple(
    re.compile(form, re.IGNORECASE)
    for form in (
        r"\W*(?:compare|vergleiche?)\s+(.+?)\s+(?:and|with|to|und|mit)\s+(.+?)\W*",
        r".*\b(?:differences?|unterschiede?) (?:between|zwischen)\s+(.+?)\s+(?:and|und)\s+(.+?)\W*",
    )
)


def form_of(question: str) -> Form | None:
    """The form of a question that a passage cannot answer; None for all others."""
    text = " ".join(question.split()).lstrip("\"'¿¡")
    for form, pattern in _FORMS:
        if re.fullmatch(pattern, text, re.IGNORECASE):
            return form
    return None


def asks_for_all(question: str) -> bool:
    """Whether a question for documents has no topic: it is about all of them."""
    text = re.sub(rf"(?i)\b{_DOCUMENTS}\b", "", question)
    return not set(content(text)) - set(content("are there exist you read gibt es insgesamt"))


def sides_of(question: str) -> tuple[frozenset[str], ...]:
    """The words that tell apart the two things that a question compares; none for others."""
    for form in _SIDES:
        if match := form.fullmatch(question):
            one, two = (frozenset(words(side)) - STOP for side in match.groups())
            return (one - two, two - one) if one - two and two - one else ()
    return ()
