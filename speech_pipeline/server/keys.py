"""Who may call: bearer tokens."""

import hashlib
import hmac
from collections.abc import Iterable

from pydantic import SecretStr
from starlette.requests import HTTPConnection

from speech_pipeline.errors import Unauthorized


class Keys:
    """The keys that are accepted; none at all lets everybody in."""

    def __init__(self, keys: Iterable[SecretStr]) -> None:
        self._digests = [_digest(key.get_secret_value().encode()) for key in keys]

    def check(self, connection: HTTPConnection) -> str | None:
        """Which key a request brings, as a name without the key itself; None where none is needed.

        The time it takes does not tell how much of a wrong key was right.

        Raises:
            Unauthorized: the header ``Authorization: Bearer KEY`` is missing, or its key is wrong.
        """
        if not self._digests:
            return None
        scheme, _, key = connection.headers.get("authorization", "").partition(" ")
        given = _digest(key.strip().encode("latin-1") if scheme.lower() == "bearer" else b"")
        matches = [hmac.compare_digest(given, digest) for digest in self._digests]
        if not any(matches):
            raise Unauthorized("Send one of the keys of this server in the header: Authorization: Bearer KEY.")
        return f"key {matches.index(True)}"


def _digest(key: bytes) -> bytes:
    return hashlib.sha256(key).digest()
