"""One line of the doctor's report."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Self


class State(StrEnum):
    """Whether something works, deserves a look, or must be mended."""

    OK = "ok"
    LOOK = "look"
    WRONG = "wrong"


@dataclass(frozen=True, slots=True)
class Finding:
    """What was found about `name`; `advice` says what to do, empty if nothing is to be done."""

    name: str
    state: State
    text: str
    advice: str = ""

    @classmethod
    def ok(cls, name: str, text: str) -> Self:
        return cls(name, State.OK, text)

    @classmethod
    def look(cls, name: str, text: str, advice: str) -> Self:
        return cls(name, State.LOOK, text, advice)

    @classmethod
    def wrong(cls, name: str, text: str, advice: str) -> Self:
        return cls(name, State.WRONG, text, advice)
