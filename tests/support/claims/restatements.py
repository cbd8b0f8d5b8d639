"""Ways to say a sentence again, each of one kind. Deterministic."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Sequence

Mutation = Callable[[str, str, random.Random], str | None]
"""(sentence, its paragraph, chance) -> the sentence of another kind; None if it cannot be made."""

COUNT = """
zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen
sixteen seventeen eighteen nineteen twenty
""".split()  # noqa: SIM905 - a list of quoted words reads worse
DIGITS = re.compile(r"(?<![\w.,:/-])(\d{1,3}(?:,\d{3})+|\d+)(?![\w:/-]|[.,]\d|\. [A-ZÄ])")
WORDS = re.compile(r"\b(" + "|".join(COUNT[2:13]) + r")\b")
MONTH = """
January February March April May June July August September October November December
""".split()  # noqa: SIM905
DATED = re.compile(rf"(?<!\d)(\d{{1,2}}) ({'|'.join(MONTH)})(?: (\d{{4}}))?\b")
_SYNONYMS = (
    (r"\bbecause\b", "since"), (r"\bmust be\b", "has to be"), (r"\babout (?=\d)", "roughly "),
    (r"\bbegan\b", "started"), (r"\blarge\b", "big"), (r"\bmany\b", "a lot of"),
    (r"\bhowever\b", "yet"), (r"\bwhile\b", "as long as"), (r"\bneeds\b", "requires"),
    (r"\beach\b", "every"), (r"\bEach\b", "Every"), (r"\balso\b", "as well"),
    (r"\bshows\b", "displays"),
    (r"\bcosts\b", "is priced at"), (r"\bheld\b", "kept"), (r"\bwas bought\b", "was purchased"),
    (r"\btakes\b", "needs"), (r"\bis shown\b", "is on display"), (r"\bholds\b", "stores"),
    (r"\ba year\b", "per year"), (r"\ban hour\b", "per hour"), (r"\bcontains\b", "includes"),
    (r"\bbuilt\b", "constructed"), (r"\bpeople\b", "persons"), (r"\bsuch as\b", "like"),
    (r"\bmain\b", "principal"), (r"\bimportant\b", "significant"), (r"\bnearly\b", "almost"),
    (r"\bIn addition, ", "Moreover, "), (r"\bknown as\b", "called"), (r"\bbut\b", "yet"),
)  # fmt: skip


def sentences_of(paragraph: str) -> Sequence[str]:
    """The sentences of a paragraph of prose that are long enough to claim something."""
    lines = [line for line in paragraph.split("\n") if not re.match(r"\s*(?:[-*|:#]|\d+\.)", line)]
    found = [
        each
        for line in lines
        for each in re.split(r"(?<=[a-z0-9%)C][.!?])(?<! \d\.) (?=[A-ZÄÖÜ])", line)
    ]
    return [each for each in found if len(each.split()) >= 6 and each.endswith(".")]


def verbatim(sentence: str, paragraph: str, chance: random.Random) -> str | None:
    return sentence


def reordered(sentence: str, paragraph: str, chance: random.Random) -> str | None:
    """The last part after a comma first."""
    head, comma, tail = sentence.rstrip(".").rpartition(", ")
    if not comma or len(tail.split()) < 3 or len(head.split()) < 3 or head.count(",") > 1:
        return None
    return f"{tail[0].upper()}{tail[1:]}, {_lowered(head)}."


def respelled(sentence: str, paragraph: str, chance: random.Random) -> str | None:
    """Every figure in another spelling."""
    if '"' in sentence or "“" in sentence:
        return None
    new = DATED.sub(lambda m: f"{m[2]} {m[1]}" + (f", {m[3]}" if m[3] else ""), sentence)
    new = WORDS.sub(lambda m: str(COUNT.index(m[1])), new)
    if new == sentence:
        new = DIGITS.sub(_in_words, sentence)
    new = re.sub(r"(?<=\d) ?%", " percent", new) if "%" in new else new.replace(" percent", "%")
    for long, short in (
        ("seconds", "s"),
        ("minutes", "min"),
        ("metres", "m"),
        ("tonnes", "t"),
        ("hours", "h"),
    ):
        new = re.sub(rf"(?<=\d ){long}\b", short, new)
    return None if new == sentence else new


def _in_words(match: re.Match[str]) -> str:
    digits = match[1]
    before = match.string[: match.start()].split()
    if match.string[match.start() - 1] in "−-" or (before and before[-1] in MONTH):
        return digits
    if "," in digits:
        return digits.replace(",", "\u202f" if len(digits) % 2 else "")
    number = int(digits)
    return (
        COUNT[number]
        if 1 < number <= 20 and not re.match(" ?[ap]m", match.string[match.end() :])
        else digits
    )


def paraphrased(sentence: str, paragraph: str, chance: random.Random) -> str | None:
    """Common words replaced, with a lead-in now and then."""
    new = sentence
    for pattern, word in _SYNONYMS:
        new = re.sub(pattern, word, new)
    if new == sentence:
        lead = chance.choice(
            ("According to the passage, ", "In other words, ", "It should be noted that ")
        )
        new = lead + _lowered(sentence)
    return new


def shortened(sentence: str, paragraph: str, chance: random.Random) -> str | None:
    """The part before the first comma or semicolon."""
    head = re.split(r", (?:and|which|who|so that|but)|; ", sentence)[0]
    return None if len(head.split()) < 5 or head == sentence else f"{head.rstrip(',.')}."


def joined(sentence: str, paragraph: str, chance: random.Random) -> str | None:
    """With the next sentence of the paragraph."""
    _, found, rest = paragraph.partition(sentence)
    following = re.match(r" ([A-Z][^.!?]{20,120}\.)(?: [A-Z]|\Z)", rest)
    if not found or following is None or not sentence.endswith("."):
        return None
    return f"{sentence[:-1]}, and {_lowered(following[1])}"


def _lowered(text: str) -> str:
    """With a small first letter, where the first word is certainly no name."""
    first = text.split(" ", 1)[0]
    common = {
        "The",
        "A",
        "An",
        "It",
        "In",
        "Each",
        "This",
        "Who",
        "At",
        "Most",
        "About",
        "If",
        "As",
        "On",
    }
    return text[0].lower() + text[1:] if first in common else text


def quoted(sentence: str, paragraph: str, chance: random.Random) -> str | None:
    words = sentence.rstrip(".").split()
    if len(words) < 9 or any(mark in sentence for mark in '"“”'):
        return None
    return " ".join([*words[:2], f"“{' '.join(words[2:8])}”", *words[8:]]) + "."


TRUE: dict[str, Mutation] = {
    "verbatim": verbatim, "reordered": reordered, "figures respelled": respelled,
    "paraphrased": paraphrased, "shortened": shortened, "two joined": joined, "quoted": quoted,
}  # fmt: skip
