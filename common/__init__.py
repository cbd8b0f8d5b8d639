"""Code shared by both apps, importing neither."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar


class UserError(Exception):
    """An error whose message states the problem and the remedy.

    `values` fill its places, such as %(most)d. It is translated where it is read, by `translate`:
    code without Django writes it in English.
    """

    translate: ClassVar[Callable[[str], str]] = str

    def __init__(self, message: str = "", **values: object) -> None:
        super().__init__(message)
        self.values = values

    def __str__(self) -> str:
        text = UserError.translate(super().__str__())
        return text % self.values if self.values else text
