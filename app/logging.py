"""Logging: structlog over the standard library's, one line per event, with the request's id on every line.

JSON for machines, a console form for a terminal; standard error. Messages, passages and keys are never logged
at any level: tracebacks show neither local variables nor the text of foreign errors (a driver's error may
quote a row), and vendors' loggers stay at `warning` (some log whole bodies below it). `ms` are milliseconds
from the first byte of the request to the last one of the response.
"""

import logging
import re
import sys
import time
import traceback
from pathlib import Path
from types import TracebackType
from typing import TextIO

import structlog
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from structlog.typing import EventDict, Processor

from app.answer import new_id
from app.errors import IbidError

HEADER = b"x-request-id"
SANE = re.compile(rb"[A-Za-z0-9._-]{1,64}")
"""A client's own request id is used if it matches, else replaced."""
PATH_SHOWN = 200
"""Characters of a path that are logged."""
QUIET = frozenset({"/healthz", "/readyz", "/metrics"})
"""Polled every few seconds by machines: logged at `debug`."""
FRAMES = 20
"""Innermost frames of ours in a logged traceback."""
CAUSES = 5
"""Errors logged of one chain of causes."""
PACKAGE = str(Path(__file__).parent) + "/"
"""Identifies our own frames; an installed package is beside its vendors."""

log = structlog.get_logger(__name__)


def configure(level: str = "info", *, json: bool | None = None, stream: TextIO | None = None) -> None:
    """Set up logging for this process; again replaces. `json` None: unless `stream` is a terminal."""
    out = stream or sys.stderr
    as_json = not out.isatty() if json is None else json
    shared: list[Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_logger_name,
        structlog.stdlib.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        fault,
    ]
    structlog.configure(
        processors=[
            structlog.stdlib.filter_by_level,
            *shared,
            structlog.stdlib.ProcessorFormatter.wrap_for_formatter,
        ],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=False,
    )
    handler = logging.StreamHandler(out)
    handler.setFormatter(_formatter(shared, as_json=as_json))
    _levels(handler, level.upper())


def _formatter(shared: list[Processor], *, as_json: bool) -> logging.Formatter:
    machine, person = structlog.processors.JSONRenderer(ensure_ascii=False), structlog.dev.ConsoleRenderer()
    return structlog.stdlib.ProcessorFormatter(
        foreign_pre_chain=shared,
        processors=[
            structlog.stdlib.ProcessorFormatter.remove_processors_meta,
            machine if as_json else person,
        ],
    )


def _levels(handler: logging.Handler, level: str) -> None:
    root = logging.getLogger()
    root.handlers = [handler]
    root.setLevel(logging.WARNING)
    logging.getLogger("app").setLevel(level)
    for name in ("uvicorn", "uvicorn.error"):
        server = logging.getLogger(name)
        server.handlers, server.propagate = [], True
        server.setLevel(max(logging.INFO, logging.getLevelName(level)))
    # Its warnings about broken forms quote them.
    logging.getLogger("python_multipart").setLevel(logging.ERROR)
    # Below it tells of each batch that a collector did not take.
    logging.getLogger("opentelemetry").setLevel(logging.ERROR)
    # Our own line per request says more, and never the query string.
    logging.getLogger("uvicorn.access").disabled = True


def fault(_logger: object, _method: str, line: EventDict) -> EventDict:
    """Replace `exc_info` by `error` (its class, its text if it is ours) and `at` (innermost frame last)."""
    info = line.pop("exc_info", None)
    found = sys.exc_info()[1] if info is True else info[1] if isinstance(info, tuple) else info
    if isinstance(found, BaseException):
        chain = [root(found)]
        while (cause := chain[-1].__cause__) and len(chain) < CAUSES:
            chain.append(root(cause))
        line["error"] = " from ".join(map(named, chain))
        line["at"] = places(chain[0].__traceback__)
    return line


def root(error: BaseException) -> BaseException:
    """The first error within a task group, which itself says nothing."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


def named(error: BaseException) -> str:
    name = type(error).__qualname__
    return f"{name}: {error}" if isinstance(error, IbidError) else name


def places(trace: TracebackType | None) -> list[str]:
    """`app/services/chat.py:81 prepare`, the innermost last. Of vendors' frames only the innermost."""
    *way, last = traceback.extract_tb(trace) or [None]
    ours = [frame for frame in way if frame and frame.filename.startswith(PACKAGE)][-FRAMES:]
    return [_place(frame) for frame in (*ours, last) if frame]


def _place(frame: traceback.FrameSummary) -> str:
    file = frame.filename.replace(PACKAGE, "app/", 1)
    return f"{file}:{frame.lineno} {frame.name}"


def request_id(scope: Scope) -> str:
    return str(scope.get("state", {}).get("request_id", ""))


class RequestLog:
    """Raw ASGI, outermost: gives the request its id, puts it on every response, logs how it ended."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        given = scope.setdefault("state", {})["request_id"] = _adopted(scope) or new_id()
        header, status, started = (HEADER, given.encode()), 0, time.perf_counter()

        async def send_with_id(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message = {**message, "headers": [*message.get("headers", ()), header]}
            await send(message)

        with structlog.contextvars.bound_contextvars(request_id=given):
            try:
                await self.app(scope, receive, send_with_id)
            finally:
                _tell(scope, status, round((time.perf_counter() - started) * 1000, 1))


def _adopted(scope: Scope) -> str | None:
    given = next((value for name, value in scope["headers"] if name == HEADER), b"")
    return given.decode("ascii") if SANE.fullmatch(given) else None


def _tell(scope: Scope, status: int, ms: float) -> None:
    """The access line. The path as it was sent (percent-encoded: one line), without its query string."""
    raw = scope.get("raw_path") or scope["path"].encode()
    path = raw.decode("ascii", "backslashreplace")[:PATH_SHOWN]
    say = log.debug if scope["path"] in QUIET else log.info
    say("request", method=scope["method"], path=path, status=status, ms=ms)
