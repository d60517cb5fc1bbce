"""URLs: which are remote, how they are shown, and how they are taken apart."""

from __future__ import annotations

import re
from typing import NamedTuple

STORES = ("s3", "s3a", "gs", "az", "azure", "adl", "abfs", "abfss")  # buckets or containers
WEB = ("http", "https")

_URL = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+)://(.*)", re.DOTALL)
_PLAIN_PATH = re.compile(r"(/[A-Za-z0-9._~=-]+)+")  # that no client writes another way


class Url(NamedTuple):
    """`scheme://authority/path`. Keys of stores are taken as they are, not percent-decoded.

    `shown`: the URL without user, password, query and fragment.
    """

    scheme: str
    authority: str
    path: str
    shown: str
    has_secrets: bool

    @property
    def root(self) -> str:
        """Where the paths begin."""
        return f"{self.scheme}://{self.authority}"

    @property
    def is_plain(self) -> bool:
        """Whether the path means the same to every HTTP client, and nothing follows it."""
        return (
            not self.has_secrets
            and all(name not in (".", "..") for name in self.path.split("/"))
            and bool(_PLAIN_PATH.fullmatch("/" + self.path))
        )


def scheme_of(text: str) -> str | None:
    """The scheme in lower case, or None for what is no URL."""
    found = _URL.match(text)
    return found[1].lower() if found else None


def is_remote(text: str) -> bool:
    """Whether the text is a URL of anything but a local file."""
    return scheme_of(text) not in (None, "file")


def parse(text: str) -> Url:
    """The parts of a URL."""
    found = _URL.match(text)
    assert found is not None
    scheme, rest = found[1].lower(), found[2]
    authority, slash, path = rest.partition("/")
    if scheme in STORES:  # their keys may hold ? and #
        user, at, host = authority.rpartition("@")
        hidden = ":" in user  # abfss://container@account has no secret
        shown_authority = host if hidden else authority
        return Url(scheme, authority, path, f"{scheme}://{shown_authority}{slash}{path}", hidden)
    authority, mark, _ = re.split(r"([?#]|$)", authority, maxsplit=1)
    path = "" if mark else path
    plain_path = re.split(r"[?#]", path, maxsplit=1)[0]
    user, at, host = authority.rpartition("@")
    hidden = bool(at or mark) or plain_path != path
    return Url(scheme, authority, path, f"{scheme}://{host}{slash}{plain_path}", hidden)


def shown(text: str) -> str:
    """A name as people may see it: of a URL nothing that could be secret."""
    return parse(text).shown if scheme_of(text) else text
