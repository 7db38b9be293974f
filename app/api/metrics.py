"""GET /metrics: the service's metrics in Prometheus' text format, for a tenant key; on a port of its own
(IBID_METRICS_PORT) without one.

The numbers are those of all tenants, and of this process alone.
"""

import asyncio

from fastapi import APIRouter, Request
from prometheus_client import CONTENT_TYPE_LATEST
from starlette.responses import PlainTextResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from app.api.dependencies import Observer, Opened, is_local_name, is_loopback
from app.api.openapi import IDENTIFIED, operation_id, responses
from app.errors import Forbidden, IbidError, Misdirected, Missing
from app.logging import RequestLog
from app.problems import response
from app.services.services import Services

EXAMPLE = """# HELP ibid_answers_total Answers that ended: stop, length, cancelled, or error.
# TYPE ibid_answers_total counter
ibid_answers_total{endpoint="/api/chat",finish_reason="stop"} 12.0
"""

router = APIRouter(generate_unique_id_function=operation_id, tags=["metrics"])


@router.get(
    "/metrics",
    summary="Metrics for Prometheus",
    response_class=PlainTextResponse,
    response_description="Prometheus' text format",
    responses={
        200: {"content": {"text/plain": {"examples": {"answers": {"value": EXAMPLE}}}}},
        **responses(*IDENTIFIED, Forbidden),
    },
)
async def show_metrics(opened: Opened, who: Observer) -> Response:
    """Counters, gauges and histograms of this process; the guide lists them. Needs a tenant key."""
    if who.user is not None:
        raise Forbidden("This needs a tenant key.")
    return await exposition(opened)


async def exposition(opened: Services) -> Response:
    if opened.gauges:
        await opened.gauges()
    text = await asyncio.to_thread(opened.metrics.rendered)
    return Response(text, headers={"Content-Type": CONTENT_TYPE_LATEST, "Cache-Control": "no-store"})


def apart(opened: Services) -> ASGIApp:
    """The app of IBID_METRICS_PORT: `GET /metrics` and nothing else. A caller on this machine must use a
    local name, so that no web page reads it by DNS rebinding."""

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        request = Request(scope)
        answer = await exposition(opened) if (fault := _refused(request)) is None else response(fault, scope)
        await answer(scope, receive, send)

    return RequestLog(app)


def _refused(request: Request) -> IbidError | None:
    if request.url.path != "/metrics" or request.method not in {"GET", "HEAD"}:
        return Missing()
    local = request.client is not None and is_loopback(request.client.host)
    if local and not is_local_name(request.headers.get("host", "")):
        return Misdirected("Call it 127.0.0.1 or localhost.")
    return None
