"""Code shared by both apps, importing neither."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar


class UserError(Exception):
    """An error whose message states the problem and the remedy.

    `values` fill its places, such as %(most)d. It is translated where it is read, by `translate`:
    code without Django writes it in English. `code` names it for programs, `status` is that of an
    HTTP response, and `retry_after` are the seconds after which the same may succeed, if known.
    """

    translate: ClassVar[Callable[[str], str]] = str
    code = "error"
    status = 400

    def __init__(
        self, message: str = "", retry_after: float | None = None, **values: object
    ) -> None:
        super().__init__(message)
        self.retry_after = retry_after
        self.values = values

    def __str__(self) -> str:
        text = UserError.translate(super().__str__())
        return text % self.values if self.values else text

    @property
    def headers(self) -> dict[str, str]:
        """Of its HTTP response: the seconds to wait, if they are known."""
        return {"Retry-After": str(round(self.retry_after))} if self.retry_after else {}
