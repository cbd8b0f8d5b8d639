"""A client of Steelyard's sync API, of the standard library alone. Copy it beside your program.

    source = Source("https://kb.example.org", TOKEN, "wiki")
    source.create("handbook")
    mirror(source, {"page-1": "revision 7", ...}, read)

The token needs the scope `upload`, its user "Can add document" and "Can delete document".
"""

import json
import sys
import time
import uuid
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple
from urllib.error import HTTPError
from urllib.parse import quote
from urllib.request import Request, urlopen

MOST_SECONDS = 120  # until a request that the site asks to repeat later


class SyncError(Exception):
    """What the site answered: its status, its code for programs, and its sentence."""

    def __init__(self, error: HTTPError) -> None:
        with error:
            text = error.read().decode(errors="replace")
        said = json.loads(text) if text.startswith("{") else {"code": "", "detail": text[:200]}
        self.status, self.code = error.code, str(said["code"])
        super().__init__(f"{said['detail']} ({self.status} {self.code})")


class File(NamedTuple):
    """A document in its present state, and what is known of it."""

    name: str
    content: bytes
    metadata: Mapping[str, Any] = {}


@dataclass(frozen=True)
class Source:
    """A source by its name, of the token's user. Its methods raise SyncError."""

    site: str
    token: str
    name: str

    def create(self, collection: str) -> None:
        """Make the source, if there is none yet."""
        self._send("PUT", "", json.dumps({"collection": collection}).encode())

    def etags(self) -> dict[str, str]:
        """What the site has: etags by ids."""
        found, page, pages = {}, 1, 1
        while page <= pages:
            answer = self._send("GET", f"documents/?page_size=1000&page={page}")
            found.update({item["id"]: item["etag"] for item in answer["results"]})
            page, pages = page + 1, answer["pages"]
        return found

    def put(self, key: str, etag: str, file: File) -> str:
        """Send a document; return added, replaced, unchanged, restored or duplicate."""
        line = f"--{(boundary := uuid.uuid4().hex)}\r\nContent-Disposition: form-data; name="
        fields = {"etag": etag, "metadata": json.dumps(dict(file.metadata))}
        form = "".join(f'{line}"{name}"\r\n\r\n{value}\r\n' for name, value in fields.items())
        name = "".join("_" if char in '"\\\r\n' else char for char in file.name)
        head = f'{form}{line}"file"; filename="{name}"\r\n\r\n'.encode()
        body = b"%s%s\r\n--%s--\r\n" % (head, file.content, boundary.encode())
        kind = f"multipart/form-data; boundary={boundary}"
        return str(self._send("PUT", f"documents/?id={quote(key, safe='')}", body, kind)["outcome"])

    def keep(self, keys: list[str], confirm: int = 0) -> int:
        """Name all that there is; return how many other documents were deleted."""
        deleted, missing = 0, 1
        while missing:
            body = {"ids": keys} | ({"confirm": confirm} if confirm and not deleted else {})
            answer = self._send("POST", "keep/", json.dumps(body).encode())
            deleted, missing = deleted + answer["deleted"], answer["missing"]
        return deleted

    def _send(
        self, method: str, path: str, body: bytes = b"", kind: str = "", left: int = 5
    ) -> Any:
        address = f"{self.site.rstrip('/')}/api/v1/sources/{self.name}/{path}"
        kind = kind or "application/json"
        headers = {"Authorization": f"Bearer {self.token}", "Content-Type": kind}
        try:
            request = Request(address, body or None, headers, method=method)
            with urlopen(request, timeout=300) as answer:
                return json.load(answer)
        except HTTPError as error:
            wait = error.headers.get("Retry-After", "")
            if not (left and wait.isdecimal() and int(wait) <= MOST_SECONDS):
                raise SyncError(error) from error
        time.sleep(int(wait))
        return self._send(method, path, body, kind, left - 1)


def mirror(
    source: Source, etags: Mapping[str, str], read: Callable[[str], File], confirm: int = 0
) -> Counter[str]:
    """Make the site have what `etags` names, and nothing else; return the numbers by outcome.

    `read` gives a document that is new or changed. One that is refused is named and left out; all
    else ends the run, and the next one goes on. SyncError `many_missing`: most documents are gone.
    If that is meant, call it again with their number as `confirm`.
    """
    there, counts, names = source.etags(), Counter[str](), dict.fromkeys(etags)
    for key, etag in etags.items():
        try:
            same = there.get(key) == etag
            counts["unchanged" if same else source.put(key, etag, read(key))] += 1
        except SyncError as error:
            if error.status not in (400, 413):
                raise
            counts["refused"] += 1
            print(f"{key}: {error}", file=sys.stderr)
            if key not in there:
                del names[key]  # an id that is too long would be refused again
    counts["deleted"] += source.keep(list(names), confirm)
    return counts
