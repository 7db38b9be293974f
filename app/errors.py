"""Everything that can go wrong, as one tree. Vendors' errors are turned into these at the edge.

    IbidError                     a problem with a slug, a title and an HTTP status
    ├── BadInput         4xx      client error
    ├── Unauthorized     401      no valid key
    ├── Forbidden        403      not permitted
    ├── NotLocal         403      not from this machine
    ├── Missing          404      not there, or not the asker's
    ├── Conflict         409      the name is another's
    ├── RemovedMeanwhile 409      it is gone
    ├── KeptElsewhere    409
    ├── SameText         409      another memory has this text
    ├── TooMany          409      as many as a tenant may have
    ├── RateLimited      429      the key is over one of its limits
    ├── Unavailable      503      a store that this request cannot do without is down; NoRoom 507: full;
    │                             Damaged 500: it cannot read its own files
    ├── Rejected         500      a store answered, and would not take this statement
    ├── Overloaded       503
    ├── ModelError       502-504  the chat model, before or during its answer
    ├── RetrievalError   (500)    it ends in `degraded`; as a status it is a bug
    └── StartError       (none)   the service does not start

Rendered in `app/problems.py` alone; every slug is listed in `docs/problems.md`.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import ClassVar

RETRY_SECONDS = 2
"""Retry-After where a store does not answer."""


class IbidError(Exception):
    """A problem as RFC 9457 tells it. `detail` is for the reader; it never holds another's data."""

    slug: ClassVar[str] = "internal"
    title: ClassVar[str] = "Internal error"
    status: ClassVar[int] = 500

    def __init__(self, detail: str = "", *, retry_after: int | None = None) -> None:
        super().__init__(detail or self.title)
        self.detail = detail or self.title
        self.retry_after = retry_after
        """Seconds after which asking again makes sense; sent as Retry-After."""


class BadInput(IbidError):
    """The request cannot be taken as it is."""

    slug, title, status = "bad-request", "Malformed request", 400


class InvalidField(BadInput):
    """A field of a well-formed body has a value that is not allowed."""

    slug, title, status = "validation", "Invalid request field", 422

    def __init__(self, detail: str = "", *, field: str = "") -> None:
        super().__init__(detail)
        self.field = field
        """The path of the field, as in `body.top_k`."""


def invalid_cursor() -> InvalidField:
    return InvalidField("cursor must be the `next` value of an earlier page", field="query.cursor")


class TooLarge(BadInput):
    """The body has too many bytes, or more than 40,000 JSON values."""

    slug, title, status = "too-large", "Request body too large", 413


class RangeNotSatisfiable(BadInput):
    """The range that was asked for begins after the end of the file."""

    slug, title, status = "range-not-satisfiable", "The range is not in the file", 416

    def __init__(self, detail: str = "", *, size: int = 0) -> None:
        super().__init__(detail)
        self.size = size
        """Bytes of the file; sent as Content-Range."""


class Stalled(BadInput):
    """The client stopped sending in the middle of its request."""

    slug, title, status = "request-timeout", "Request timed out", 408


class UriTooLong(BadInput):
    """The path and query exceed 32 KiB."""

    slug, title, status = "uri-too-long", "The path and query are too long", 414


class HeadersTooLarge(BadInput):
    """The headers and the request line exceed 32 KiB, or there are more than 100 headers."""

    slug, title, status = "headers-too-large", "The headers are too large", 431


class WrongMethod(BadInput):
    """The path is there, but not for this method."""

    slug, title, status = "method-not-allowed", "Method not allowed", 405


class WrongType(BadInput):
    """The body's Content-Type is not the one this path takes."""

    slug, title, status = "wrong-content-type", "Unsupported content type", 415


class Misdirected(BadInput):
    """The open service was called by a name that is not this machine's (DNS rebinding)."""

    slug, title, status = "misdirected", "Host name not allowed without an API key", 421


class NotPdf(BadInput):
    """The upload is not a PDF."""

    slug, title, status = "not-a-pdf", "Not a PDF", 415


class EmptyFile(BadInput):
    """The upload has no bytes."""

    slug, title, status = "empty-file", "The file is empty", 415


class PdfEncrypted(BadInput):
    """The PDF opens only with a password."""

    slug, title, status = "pdf-encrypted", "The PDF is encrypted", 422


class PdfDamaged(BadInput):
    """The PDF's structure cannot be read."""

    slug, title, status = "pdf-damaged", "The PDF is damaged", 422


class PdfTextless(BadInput):
    """No page has text, as with scans."""

    slug, title, status = "pdf-without-text", "The PDF has no text", 422


class PdfUnreadable(BadInput):
    """The PDF has text, but nobody can read it out: its fonts do not say which letters they show."""

    slug, title, status = "pdf-unreadable", "The text of the PDF cannot be read", 422


class PdfTooComplex(BadInput):
    """Reading the PDF took more time or memory than a worker is given (a page bomb)."""

    slug, title, status = "pdf-too-complex", "The PDF is too complex", 422


class Unauthorized(IbidError):
    """No key, or one that is not known."""

    slug, title, status = "unauthorized", "A valid API key is required", 401


class Forbidden(IbidError):
    """The key is known but may not do this."""

    slug, title, status = "forbidden", "The API key does not permit this", 403


class NotLocal(IbidError):
    """The open service was asked from another machine, through a proxy, or by a page of another site."""

    slug, title, status = "local-only", "Only local requests are allowed without an API key", 403


class Missing(IbidError):
    """Not there, or not the asker's: the two look the same."""

    slug, title, status = "not-found", "Not found", 404


class Conflict(IbidError):
    """Another document of the same scope has this name with other bytes."""

    slug, title, status = "name-taken", "The name is taken by another document", 409


class SameText(IbidError):
    """Another memory of the user has this text."""

    slug, title, status = "same-text", "Another memory has this text", 409


class TooMany(IbidError):
    """A tenant may not have more of this: some must go first."""

    slug, title, status = "too-many", "Limit reached", 409


class KeptElsewhere(IbidError):
    """A project keeps conversations or dreams, and this is the other's path; or a row is another tool's."""

    slug, title, status = "kept-elsewhere", "The row belongs to another path or tool", 409


class RemovedMeanwhile(IbidError):
    """What was sent was deleted, replaced or erased by another request while it was taken in."""

    slug, title, status = "removed-meanwhile", "Deleted while it was being processed", 409


class RateLimited(IbidError):
    """The key has used up one of its limits (`IBID_LIMIT_REQUESTS`, `IBID_LIMIT_TOKENS`,
    `IBID_LIMIT_CONCURRENCY`)."""

    slug, title, status = "rate-limited", "Too many requests", 429


class Unavailable(IbidError):
    """A store this request cannot do without does not answer."""

    slug, title, status = "unavailable", "A store is not available", 503


class NoRoom(Unavailable):
    """A disk that should keep what was sent is full. Nothing of it was kept."""

    slug, title, status = "no-room", "The disk is full", 507


class Damaged(Unavailable):
    """A store cannot read what it has on its disk: a page, an index or a file is damaged. Asking again does
    not help."""

    slug, title, status = "damaged", "A store is damaged", 500


class Rejected(IbidError):
    """A store is there but does not take this: a missing right or column, a value that does not fit."""

    slug, title = "rejected", "A store rejected the operation"


class Overloaded(IbidError):
    """More work at once than this process takes."""

    slug, title, status = "overloaded", "Too many concurrent requests", 503


class ModelError(IbidError):
    """The chat model did not do its part."""

    slug, title, status = "model-failed", "The chat model failed", 502

    def __init__(self, detail: str = "", *, retry_after: int | None = None, down: bool = False) -> None:
        super().__init__(detail, retry_after=retry_after)
        self.down = down
        """True if its server failed as a whole (unreachable, silent, 5xx), not just this request."""


class ModelRefused(ModelError):
    """The model's server does not know our key, or not the model (401, 403, 404)."""

    slug, title = "model-refused", "The model's server refused the request"


class ModelBusy(ModelError):
    """The model's server asks us to wait (429)."""

    slug, title, status = "model-busy", "The model's server is busy", 503


class ModelTimeout(ModelError):
    """The model did not answer in time."""

    slug, title, status = "model-timeout", "The model did not answer in time", 504


class RetrievalError(IbidError):
    """A source or the embedding did not answer. Costs its passages, never the answer."""

    slug, title = "retrieval", "A source did not answer"

    def __init__(self, reason: str, *, rejected: bool = False, missing: bool = False) -> None:
        super().__init__(reason)
        self.reason = reason
        """One word for `degraded`: timeout, unavailable, overloaded, embedding, not_available."""
        self.rejected = rejected or missing
        """True if its server answered and refused: nothing is down (see `Rejected`)."""
        self.missing = missing
        """True if the collection does not exist, so it has nothing to remove either."""


class StartError(IbidError):
    """The service cannot start; the message says what to do."""

    slug, title = "start", "Ibid cannot start"


@contextmanager
def required(what: str = "a store") -> Iterator[None]:
    """Around what there is no reply without, where an answer could go on: a `RetrievalError` becomes
    `Unavailable`."""
    try:
        yield
    except RetrievalError as error:
        raise Unavailable(f"{what} does not answer", retry_after=RETRY_SECONDS) from error


def kinds(root: type[IbidError] = IbidError) -> Iterator[type[IbidError]]:
    """Every problem of the tree above, `root` first; what a command derives for itself is not one."""
    yield root
    for kind in (each for each in root.__subclasses__() if each.__module__ == __name__):
        yield from kinds(kind)


def problem(slug: str, detail: str) -> IbidError:
    """The problem that was kept as its slug; an unknown slug (a newer replica wrote it) is `internal`."""
    return next((kind for kind in kinds() if kind.slug == slug), IbidError)(detail)
