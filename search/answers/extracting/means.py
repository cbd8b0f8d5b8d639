"""Questions how to reach a goal, and the sentences that name a means to one. Pure.

Such a question repeats the words of its goal; its answer names what the question lacks: something
to call, to set or to press. Names are recognised as those of code; instructions and limits in
English.
"""

from __future__ import annotations

import re

_ASKS_HOW = re.compile(
    r"""(?<!\w)(?:
      how\ (?:do|does|can|could|should|would|must|might|may)\ (?:i|we|you|one|someone|an?|the)\b
    | how\ (?:best\ )?to\b
    | (?:what\ is|what's)\ the\ (?:best\ |right\ )?way\ to\b
    | wie\ (?:kann|muss|soll|sollte|könnte|\w+e)\ (?:ich|wir|man)\b
    | cómo\ (?:se\ )?(?:puedo|podemos|debo|hago|\w+o)\b
    | comment\ (?:(?:puis|dois|pouvons|faire|peut)\b|\w+(?:er|ir|re)\b)
    )""",
    re.IGNORECASE | re.VERBOSE,
)
# What may come before the order: a number in a list, then a purpose or a condition, then a filler.
_BEFORE_ORDER = r"""
    ^\W*
    (?:\d+[.)]\s+)?
    (?:(?:to|in\ order\ to|if|for|when|as|by)\b[^,]{0,160},\s+)?
    (?:please\ |just\ |simply\ |first,?\ |then,?\ |instead,?\ )*
"""
_ORDER = r"""
    you\ (?:can|may|could|should|must|need\ to|have\ to)\b
    | use|call|set|add|pass|run|create|define|write|put|include|import|install|open|select|choose
    | click|press|enter|type|send|apply|wrap|override|enable|disable|remove|specify|give|change
    | configure|turn|start|stop|make\ sure
"""
_INSTRUCTS = re.compile(
    rf"""(?:{_BEFORE_ORDER})(?:{_ORDER})\b
    | \byou\ (?:can|could|may|should|must|need\ to|have\ to)\b
    | \b(?:by|via)\ (?:using|calling|setting|passing|adding)\b""",
    re.IGNORECASE | re.VERBOSE,
)
_LIMITS = re.compile(
    r"""^\W*however\b
    | \b(?:is|are)\ (?:limited|restricted)\ to\b
    | \b(?:cannot|can['’]t|unless)\b
    | \b(?:do|does|did|is|are|was|were|will|would|should)(?:\ not|n['’]t)\b""",
    re.IGNORECASE | re.VERBOSE,
)
_NAME_IN_CODE = re.compile(
    r"""\b\w+\(                        # name(
    | \b[A-Z][A-Z0-9]+_[A-Z]\w*        # A_SETTING
    | \b[a-z0-9]+_[a-z]\w*             # a_name
    | (?<![\w-])--\w[\w-]*             # --option
    | \b[a-z]+[A-Z]\w+                 # aName
    | \b[A-Z][a-z]+[A-Z]\w+            # ANameOfAClass
    """,
    re.VERBOSE,
)


def asks_how(question: str) -> bool:
    """Whether a question asks how to reach a goal (English, German, Spanish and French)."""
    return bool(_ASKS_HOW.search(question))


def instructs(sentence: str) -> bool:
    """Whether a sentence tells its reader to do something (in English)."""
    return bool(_INSTRUCTS.search(sentence))


def limits(sentence: str) -> bool:
    """Whether a sentence says what does not work (in English)."""
    return bool(_LIMITS.search(sentence))


def names_in_code(sentence: str) -> list[str]:
    """The names of functions, settings, options and classes in a sentence, by their shapes."""
    return [match.group() for match in _NAME_IN_CODE.finditer(sentence)]
