"""Mirror a folder of an IMAP mailbox into a collection: for cron.

    STEELYARD_TOKEN=... IMAP_PASSWORD=... python sync_imap.py imap.example.org --user archive \\
        --folder Announcements --site https://kb.example.org --source mail --collection mail

A message's id is its UID below the folder and its UIDVALIDITY: as the server promises never to give
that to another message, it is the etag as well. Attachments become parts of the message's document.
Begin the line with `ulimit -v 2000000; timeout 1h` if the server is not yours: that bounds what
answers without an end may take.
"""

import argparse
import imaplib
import os
import re
from collections.abc import Sequence
from email import parser, policy

from steelyard_sync import File, Source, mirror

SECONDS = 120  # of silence, before the run ends
# The mail package takes time by the square of a header, and a call for each level of nested parts:
# only the beginning of a message is parsed, and of its subject.
HEAD, SUBJECT = 100_000, 1_000


class ImapError(Exception):
    """The server refused a command. The run ends before anything is deleted."""


def ask(server: imaplib.IMAP4, command: str, *arguments: str) -> list[bytes | tuple[bytes, bytes]]:
    """The server's data for a command about messages by their UIDs. Raises ImapError."""
    status, data = server.uid(command, *arguments)
    if status != "OK":
        raise ImapError(f"{command}: {data!r}")
    return data


def messages(server: imaplib.IMAP4, folder: str) -> dict[str, str]:
    """The UIDs of the folder's messages, by their ids; without those marked as deleted."""
    quoted = folder.replace("\\", "\\\\").replace('"', '\\"')
    status, data = server.select(f'"{quoted}"', readonly=True)
    if status != "OK":
        raise ImapError(f"{folder}: {data!r}")
    (validity,), (found,) = server.response("UIDVALIDITY")[1], ask(server, "SEARCH", "UNDELETED")
    if validity is None or found is None:
        raise ImapError(f"{folder}: the server gave no UIDVALIDITY, or no UIDs.")
    return {f"{folder}/{int(validity)}/{int(uid)}": str(int(uid)) for uid in found.split()}


def subject(message: bytes) -> str:
    """The beginning of the message's subject; empty without one."""
    head = parser.BytesHeaderParser(policy=policy.default).parsebytes(message[:HEAD])
    raw = {name.lower(): value for name, value in head.raw_items()}.get("subject", "")
    return str(policy.default.header_fetch_parse("Subject", raw[:SUBJECT]))


def read_message(server: imaplib.IMAP4, uid: str) -> File:
    """A message as a file, named after its subject. It stays unread."""
    for part in ask(server, "FETCH", uid, "(BODY.PEEK[])"):
        if isinstance(part, tuple):
            name = " ".join(re.sub(r'[\x00-\x1f/\\:*?"<>|]', " ", subject(part[1])).split())
            return File(f"{name[:100] or 'message'}.eml", part[1])
    raise ImapError(f"Message {uid} has gone meanwhile; run it again.")


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("host")
    parser.add_argument("--port", type=int, default=993)
    parser.add_argument("--plain", action="store_true", help="without TLS, on this machine alone")
    parser.add_argument("--user", required=True)
    parser.add_argument("--folder", default="INBOX")
    parser.add_argument("--site", required=True)
    parser.add_argument("--source", required=True, help="a name of your choice")
    parser.add_argument("--collection", required=True, help="the collection's slug")
    parser.add_argument("--confirm", type=int, default=0, help="the number of a refused deletion")
    given = parser.parse_args(arguments)

    connect = imaplib.IMAP4 if given.plain else imaplib.IMAP4_SSL
    with connect(given.host, given.port, timeout=SECONDS) as server:
        server.login(given.user, os.environ["IMAP_PASSWORD"])
        found = messages(server, given.folder)
        source = Source(given.site, os.environ["STEELYARD_TOKEN"], given.source)
        source.create(given.collection)
        counts = mirror(source, found, lambda key: read_message(server, found[key]), given.confirm)
    print(", ".join(f"{number} {outcome}" for outcome, number in counts.items() if number))


if __name__ == "__main__":
    main()
