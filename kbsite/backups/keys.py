"""The key of a site's backups: an age identity in a file that only its owner may read.

Objects are age files (https://age-encryption.org/v1), so that `age --decrypt -i KEY_FILE` reads
them without Steelyard. age proves that an object is whole, not who wrote it; the list of a backup
is therefore signed with a secret that is derived from the same key.
"""

from __future__ import annotations

import hashlib
import hmac
import os
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Any

import pyrage

from kbsite.backups.errors import BackupDamaged, BackupError

SIGNATURE_BYTES = 32


@dataclass(frozen=True)
class Key:
    """A key, read from its file. Never printed: `fingerprint` names it."""

    identity: Any

    @classmethod
    def read(cls, path: Path) -> Key:
        """The key in a file. Raises BackupError if there is none."""
        try:
            lines = path.read_text().split("\n")
        except FileNotFoundError as error:
            raise BackupError(
                f"There is no key of backups in {path}. `manage.py backup` creates one on its "
                "first run; to restore, put the file there that you kept elsewhere, or give "
                "--key FILE."
            ) from error
        except (OSError, UnicodeDecodeError) as error:
            raise BackupError(f"The key {path} cannot be read: {error}") from error
        for line in lines:
            if line.startswith("AGE-SECRET-KEY-"):
                try:
                    return cls(pyrage.x25519.Identity.from_str(line.strip()))
                except pyrage.IdentityError:
                    break
        raise BackupError(f"{path} holds no age key (AGE-SECRET-KEY-...). Give the file as it was.")

    @classmethod
    def create(cls, path: Path) -> Key:
        """A new key, in a file of mode 0600. Raises BackupError if the file exists."""
        identity = pyrage.x25519.Identity.generate()
        made = f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}"
        text = f"# Steelyard backups, created {made}\n# public key: {identity.to_public()}\n"
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(handle, "w") as file:
                file.write(f"{text}{identity}\n")
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise BackupError(
                f"The key of the backups cannot be written to {path}: {error.strerror}"
            ) from error
        return cls(identity)

    @property
    def fingerprint(self) -> str:
        """Eight hexadecimal digits that tell this key from others."""
        return hashlib.sha256(str(self.identity.to_public()).encode()).hexdigest()[:8]

    def name_of(self, kind: str, sha256: str) -> str:
        """The name of the object with this content.

        Keyed, so that whoever sees the names cannot tell which well-known files a site holds.
        """
        digest = self._mac(f"{kind}:{sha256}".encode()).hex()
        return f"objects/{digest[:2]}/{digest}"

    def encrypt(self, plain: bytes) -> bytes:
        return bytes(pyrage.encrypt(plain, [self.identity.to_public()]))

    def decrypt(self, sealed: bytes) -> bytes:
        """The plain bytes. Raises BackupDamaged for another key, and for changed or lost bytes."""
        try:
            return bytes(pyrage.decrypt(sealed, [self.identity]))
        except pyrage.DecryptError as error:
            raise BackupDamaged(f"it cannot be decrypted ({error})") from error

    def encrypt_stream(self, plain: Any, sealed: IO[bytes]) -> None:
        """Encrypt from one file to another. Raises OSError if one of them fails."""
        try:
            pyrage.encrypt_io(plain, sealed, [self.identity.to_public()])
        except pyrage.EncryptError as error:
            raise OSError(str(error)) from error

    def decrypt_stream(self, sealed: Any, plain: Any) -> None:
        """Decrypt from one file to another. Raises BackupDamaged as `decrypt` does."""
        try:
            pyrage.decrypt_io(sealed, plain, [self.identity])
        except (pyrage.DecryptError, OSError) as error:
            raise BackupDamaged(f"it cannot be decrypted ({error})") from error

    def sign(self, text: bytes) -> bytes:
        """The signature and the text."""
        return self._mac(b"list:" + text) + text

    def signed(self, whole: bytes) -> bytes:
        """The text behind its signature. Raises BackupDamaged if that is not this key's."""
        signature, text = whole[:SIGNATURE_BYTES], whole[SIGNATURE_BYTES:]
        if not hmac.compare_digest(signature, self._mac(b"list:" + text)):
            raise BackupDamaged("its signature is not that of this key")
        return text

    def _mac(self, text: bytes) -> bytes:
        secret = hashlib.sha256(b"steelyard backups:" + str(self.identity).encode()).digest()
        return hmac.digest(secret, text, "sha256")
