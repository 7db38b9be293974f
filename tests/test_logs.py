"""Logging: ids on every response, one line a request, and nothing said that must not be."""

import io
import logging
from collections.abc import Iterator

import pytest
import structlog
from starlette.types import Message, Receive, Scope, Send

from app.logging import RequestLog, configure, request_id
from tests.fakes.logged import Lines, captured

SECRET = "the patient's name is Ada"


@pytest.fixture
def lines() -> Iterator[Lines]:
    with captured() as found:
        yield found


async def answering(scope: Scope, receive: Receive, send: Send) -> None:
    """An app that answers 204."""
    structlog.get_logger("app.test").info("inside")
    await send({"type": "http.response.start", "status": 204, "headers": []})
    await send({"type": "http.response.body", "body": b""})


async def breaking(scope: Scope, receive: Receive, send: Send) -> None:
    raise RuntimeError(SECRET)


async def asked(
    headers: dict[bytes, bytes] | None = None, path: str = "/x", raw: bytes | None = None
) -> tuple[Scope, list[Message]]:
    """The scope and the messages of one request through the middleware."""
    scope: Scope = {"type": "http", "method": "GET", "path": path, "headers": list((headers or {}).items())}
    if raw is not None:
        scope["raw_path"] = raw
    sent: list[Message] = []

    async def send(message: Message) -> None:
        sent.append(message)

    await RequestLog(answering)(scope, receive=_nothing, send=send)
    return scope, sent


async def _nothing() -> Message:
    return {"type": "http.request", "body": b"", "more_body": False}


async def test_every_response_carries_the_id_its_request_was_given() -> None:
    """The header's id is the one that the routes see."""
    scope, sent = await asked()

    assert sent[0]["headers"] == [(b"x-request-id", request_id(scope).encode())]
    assert len(request_id(scope)) == 36


@pytest.mark.parametrize("given", [b"a", b"Build-7_x.2", b"f" * 64])
async def test_a_sane_id_of_the_client_is_taken_over(given: bytes) -> None:
    """So that a caller finds its own requests in our log."""
    scope, _ = await asked({b"x-request-id": given})

    assert request_id(scope).encode() == given


async def test_a_request_leaves_one_line_that_says_how_it_ended(lines: Lines) -> None:
    """Method, path, status, milliseconds, id."""
    scope, _ = await asked()

    (line,) = lines.of("request")
    assert (line["method"], line["path"], line["status"]) == ("GET", "/x", 204)
    assert line["ms"] >= 0
    assert line["request_id"] == request_id(scope)
    assert line["level"] == "info"


async def test_a_path_is_logged_as_it_was_sent_without_its_query(lines: Lines) -> None:
    """A percent-encoded line break stays one, and what was asked in the query is not kept."""
    await asked(path="/a\nb", raw=b"/a%0Ab")

    assert lines.of("request")[0]["path"] == "/a%0Ab"


@pytest.mark.parametrize("path", ["/healthz", "/readyz"])
async def test_health_checks_are_logged_at_debug_only(lines: Lines, path: str) -> None:
    """Machines ask every few seconds."""
    await asked(path=path)

    assert lines.of("request")[0]["level"] == "debug"


async def test_a_request_that_breaks_leaves_its_line_too(lines: Lines) -> None:
    """The middleware passes the error on, and tells that there was no answer."""
    scope: Scope = {"type": "http", "method": "GET", "path": "/x", "headers": []}
    with pytest.raises(RuntimeError):
        await RequestLog(breaking)(scope, _nothing, _swallow)

    assert lines.of("request")[0]["status"] == 0


async def _swallow(message: Message) -> None:
    return None


def test_an_error_that_is_not_ours_is_logged_without_its_text(lines: Lines) -> None:
    """A driver's message may quote a row; its class and its place are enough to find it."""
    try:
        raise ValueError(SECRET)
    except ValueError:
        structlog.get_logger("app.test").exception("broke")

    (line,) = lines.all()
    assert SECRET not in lines.getvalue()
    assert line["error"] == "ValueError"
    assert "test_logs.py" in line["at"][-1]


def test_an_error_logged_by_a_vendor_is_told_the_same_way(lines: Lines) -> None:
    """uvicorn logs what a route raised after its head was out; the text stays out of it there too."""
    try:
        raise ValueError(SECRET)
    except ValueError as error:
        logging.getLogger("uvicorn.error").error("Exception in ASGI application\n", exc_info=error)

    assert SECRET not in lines.getvalue()
    assert lines.all()[0]["error"] == "ValueError"


def test_local_variables_are_never_shown_at_a_terminal() -> None:
    """structlog's own console form would print them, and they hold messages and keys."""
    with captured():
        out = io.StringIO()
        configure("debug", json=False, stream=out)
        key = "ibid_" + "default_cafe"
        try:
            raise ValueError(key)
        except ValueError:
            structlog.get_logger("app.test").exception("broke")

    assert "broke" in out.getvalue()
    assert "default_cafe" not in out.getvalue()


@pytest.mark.parametrize("name", ["openai", "httpx", "chromadb.api", "anybody"])
def test_vendors_are_heard_from_warning_upwards_only(lines: Lines, name: str) -> None:
    """At debug the model's client logs whole bodies; our own level must not turn that on."""
    logging.getLogger(name).debug("body: %s", SECRET)
    logging.getLogger(name).info("body: %s", SECRET)
    logging.getLogger(name).warning("careful")

    assert [line["event"] for line in lines.all()] == ["careful"]


@pytest.mark.parametrize(
    "given", [b"", b"a b", b"f" * 65, b"<script>", b"a\r\nSet-Cookie: x", b"caf\xe9", b"id\n"]
)
async def test_any_other_id_is_replaced(given: bytes) -> None:
    """Nothing that a client made up can break a header or a log line."""
    scope, _ = await asked({b"x-request-id": given})

    assert len(request_id(scope)) == 36
