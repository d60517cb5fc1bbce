"""Why bytes did not come: in words that hold no secret, and whether to ask again. Pure.

The texts of client libraries hold URLs, signatures and passwords. No text of theirs is shown: what
went wrong is told from the error's class and from the few marks in its text that are known here.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum
from http import HTTPStatus

from pqlab.plan.policy import IOPolicy

_STATUS = re.compile(r"status code: (\d{3})\b")
_CODE = re.compile(r"<Code>([A-Za-z]{1,60})</Code>")
_AGAIN = (408, 425, 429, 500, 502, 503, 504)
_SHOWN_CHARACTERS = 200


class Kind(Enum):
    """What a failure means for the request."""

    AGAIN = "the next attempt may succeed"
    FINAL = "it never will"
    CHANGED = "the file is another now"
    NO_RANGES = "the server does not do this kind of range"
    BEYOND = "the range is not in the file"
    MISSING = "there is no such file"


@dataclass(frozen=True, slots=True)
class Failure:
    """`message` and `hint` of the error that it becomes."""

    kind: Kind
    message: str
    hint: str | None = None


DOWNLOAD = "Download the file, and open the copy"
OTHER_RANGE = Failure(Kind.AGAIN, "the server sent another range than was asked for")
_NETWORK = Failure(Kind.AGAIN, "the connection failed")
_CHANGED = "the file changed since it was opened"
_NO_ACCESS = "Check the credentials: storage_options, or the environment's"
_NO_CREDENTIALS = (
    "Set the environment's credentials, or storage_options; for public buckets "
    'storage_options={"skip_signature": True}'
)

# the class of obstore's error -> what it is
_CLASSES = {
    "FileNotFoundError": Failure(Kind.MISSING, "there is no such file"),
    "NotFoundError": Failure(Kind.MISSING, "there is no such file"),
    "PermissionDeniedError": Failure(Kind.FINAL, "access is denied", _NO_ACCESS),
    "UnauthenticatedError": Failure(Kind.FINAL, "the credentials are refused", _NO_ACCESS),
    "PreconditionError": Failure(Kind.CHANGED, _CHANGED, "Open it again"),
    "NotSupportedError": Failure(
        Kind.NO_RANGES,
        "the server serves no ranges of bytes",
        DOWNLOAD,
    ),
    "InvalidPathError": Failure(Kind.FINAL, "the path is not valid", "Check the URL"),
}
# marks in the text of a GenericError without a status -> what it is
_MARKS = (
    ("NotPartial", _CLASSES["NotSupportedError"]),
    ("169.254.169.254", Failure(Kind.FINAL, "no credentials were found", _NO_CREDENTIALS)),
    ("metadata.google", Failure(Kind.FINAL, "no credentials were found", _NO_CREDENTIALS)),
    ("redentials", Failure(Kind.FINAL, "no credentials were found", _NO_CREDENTIALS)),
    (
        "without LOCATION",
        Failure(
            Kind.FINAL,
            "the bucket is in another region",
            'Set AWS_REGION, or storage_options={"region": ...}',
        ),
    ),
    ("kind: Timeout", Failure(Kind.AGAIN, "no bytes came in time")),
    ("TimedOut", Failure(Kind.AGAIN, "no bytes came in time")),
    ("UnexpectedRange", OTHER_RANGE),
    ("NoContentRange", Failure(Kind.AGAIN, "the server did not say which range it sent")),
    ("ParseContentRange", Failure(Kind.AGAIN, "the server sent an invalid Content-Range")),
    ("InvalidContentRange", Failure(Kind.AGAIN, "the server sent an invalid Content-Range")),
    ("InvalidContentLength", Failure(Kind.AGAIN, "the server sent an invalid Content-Length")),
    ("kind: Interrupted", Failure(Kind.AGAIN, "the connection broke off")),
    ("dns error", Failure(Kind.AGAIN, "the host has no address", "Check the URL")),
)


def classify(error: Exception) -> Failure:
    """What an error of obstore means."""
    words = str(error)
    found = next(
        (_CLASSES[c.__name__] for c in type(error).__mro__ if c.__name__ in _CLASSES), None
    )
    if found is not None:
        return found
    status = _STATUS.search(words)
    marked = next((failure for mark, failure in _MARKS if mark in words), None)
    if status is None or (marked is not None and marked.kind is Kind.FINAL):
        return marked or _NETWORK
    number = int(status[1])
    if number == 416:
        return Failure(Kind.BEYOND, "the file does not have the range that was asked for")
    code = _CODE.search(words)
    message = f"the server answered {_status_text(number)}" + (f" ({code[1]})" if code else "")
    return Failure(Kind.AGAIN if number in _AGAIN else Kind.FINAL, message)


def _status_text(number: int) -> str:
    try:
        return f"{number} {HTTPStatus(number).phrase}"
    except ValueError:
        return str(number)


def changed(what: str) -> Failure:
    """The failure for a response that is not of the file that was opened."""
    return Failure(Kind.CHANGED, f"{_CHANGED}: {what}", "Open it again")


def pause_s(number: int, elapsed_s: float, chance: float, policy: IOPolicy) -> float | None:
    """How long to wait after attempt `number` (from 1) has failed; None: give up.

    `elapsed_s` since the first attempt began; `chance`: a random number in [0, 1), so that clients
    that failed together do not come back together.
    """
    pause: float = chance * policy.backoff_s * 2 ** (number - 1)
    if number >= policy.attempts or elapsed_s + pause >= policy.deadline_s:
        return None
    return pause


def reason(error: Exception) -> str:
    """An error of foreign code in words: its class, and its text where that cannot hold secrets."""
    words = (error.strerror if isinstance(error, OSError) else None) or str(error)
    harmless = words and len(words) <= _SHOWN_CHARACTERS and not re.search(r"://|[=?&]", words)
    return f"{type(error).__name__}: {words}" if harmless else type(error).__name__
