"""What httptools refuses before there is a request (an unknown method, a Content-Length that is no number, a
path of bytes that HTTP forbids), told like every other problem: uvicorn alone would answer in plain text.

Nothing of what was sent is echoed or logged. The connection ends with the answer.
"""

import structlog
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from app.api.wire import encoded
from app.domain.answer import new_id
from app.domain.errors import BadInput
from app.logs import HEADER
from app.problems import MEDIA, document

STATUS = b"HTTP/1.1 400 Bad Request"

log = structlog.get_logger(__name__)


class Protocol(HttpToolsProtocol):
    """uvicorn's, with its one refusal as a problem."""

    def send_400_response(self, msg: str) -> None:  # noqa: ARG002 - uvicorn's signature
        """Answer and close. An answer that is already on its way is cut: none must follow inside of it."""
        given = new_id()
        log.info("unreadable request", request_id=given, status=400)
        if not self._answering():
            self.transport.write(refusal(given, self.server_state.default_headers))
        self.transport.close()

    def _answering(self) -> bool:
        """Whether a response has begun and not ended."""
        return self.cycle is not None and self.cycle.response_started and not self.cycle.response_complete


def refusal(given: str, common: list[tuple[bytes, bytes]]) -> bytes:
    """The whole response; `given` is its id, `common` the headers that every response has."""
    body = encoded(document(BadInput("This is not HTTP as it can be read here."), given))
    headers = [
        *common,
        (HEADER, given.encode()),
        (b"content-type", MEDIA.encode()),
        (b"content-length", str(len(body)).encode()),
        (b"cache-control", b"no-store"),
        (b"connection", b"close"),
    ]
    return b"\r\n".join([STATUS, *(name + b": " + value for name, value in headers), b"", body])
