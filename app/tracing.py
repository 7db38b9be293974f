"""Traces (OpenTelemetry) of requests, exported over OTLP/HTTP by a thread of the SDK.

Switched on and configured by the standard OTEL_* variables, which the SDK reads; off, nothing of it is
imported. A service has its own provider, not the global one. Names follow the semantic conventions of HTTP
servers and of generative AI (`gen_ai.*`). Spans carry route templates, counts, models and error classes,
never texts, paths, ids of users, or messages of errors. A collector that is slow or away costs its spans:
the queue is bounded, and stopping waits STOP_SECONDS at most.
"""

import asyncio
import threading
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from contextvars import ContextVar
from importlib.metadata import version
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import structlog

from app.errors import IbidError, StartError
from app.settings import Telemetry

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.trace import Span

STOP_SECONDS = 1.0
"""For the last spans, when the service stops."""
HTTP = "http/protobuf"

Attributes = Mapping[str, str | int | float | bool | list[str]]

log = structlog.get_logger(__name__)


class Tracer:
    def __init__(self, provider: "TracerProvider") -> None:
        from opentelemetry import trace  # noqa: PLC0415 - only if there are traces
        from opentelemetry.trace.propagation.tracecontext import (  # noqa: PLC0415
            TraceContextTextMapPropagator,
        )

        self.provider = provider
        self._trace = trace
        self._tracer = provider.get_tracer("ibid", version("ibid"))
        self._propagator = TraceContextTextMapPropagator()

    def request(self, method: str, headers: Mapping[str, str]) -> "Span":
        """The server span of a request, a child of its `traceparent`; not current. End it."""
        parent = self._propagator.extract(headers)
        kind = self._trace.SpanKind.SERVER
        return self._tracer.start_span(method, parent, kind, {"http.request.method": method})

    def call(self, name: str, attributes: Attributes) -> "Span":
        """The client span of a call, a child of the current span; not current. End it."""
        return self._tracer.start_span(name, kind=self._trace.SpanKind.CLIENT, attributes=dict(attributes))

    def stage(self, name: str, attributes: Attributes) -> "Span":
        return self._tracer.start_span(name, attributes=dict(attributes))

    @contextmanager
    def current(self, span: "Span") -> Iterator[None]:
        """The parent of what begins in the block. Leave it in the task that entered it."""
        with self._trace.use_span(span, record_exception=False, set_status_on_exception=False):
            yield

    def fail(self, span: "Span", kind: str) -> None:
        """`kind`: a class of errors or a status, never a text."""
        span.set_attribute("error.type", kind)
        span.set_status(self._trace.StatusCode.ERROR)

    def outgoing(self) -> dict[str, str]:
        """Headers that hand the current span on: `traceparent`, `tracestate`."""
        carrier: dict[str, str] = {}
        self._propagator.inject(carrier)
        return carrier


TRACER: ContextVar[Tracer | None] = ContextVar("tracer", default=None)
"""The tracer of the request's service; None: no traces, or no request."""


def outgoing() -> dict[str, str]:
    tracer = TRACER.get()
    return tracer.outgoing() if tracer else {}


@contextmanager
def span(name: str, attributes: Attributes) -> Iterator[None]:
    """A span around a block, and the parent of those that begin in it."""
    tracer = TRACER.get()
    if tracer is None:
        yield
        return
    begun = tracer.stage(name, attributes)
    try:
        with tracer.current(begun):
            yield
    except BaseException as error:
        tracer.fail(begun, error_kind(error))
        raise
    finally:
        begun.end()


class ModelCall:
    """The span of one request to a model's server; does nothing without a tracer. `end` it."""

    def __init__(self, operation: str, model: str, url: str, **more: str | int | bool) -> None:
        """`operation`: `chat` or `embeddings`. `more`: attributes without their `gen_ai.request.`"""
        self._tracer = TRACER.get()
        self._span: Span | None = None
        if self._tracer is None:
            return
        parts = urlsplit(url)
        told: dict[str, str | int | float | bool | list[str]] = {
            "gen_ai.operation.name": operation,
            "gen_ai.provider.name": "openai",  # whose protocol it is
            "gen_ai.request.model": model,
            "server.address": parts.hostname or "",
            "server.port": parts.port or (443 if parts.scheme == "https" else 80),
        }
        told |= {f"gen_ai.request.{name}": value for name, value in more.items()}
        self._span = self._tracer.call(f"{operation} {model}", told)

    @property
    def traced(self) -> bool:
        return self._span is not None

    @contextmanager
    def current(self) -> Iterator[None]:
        """Around the sending of the request: the server gets `traceparent`. An error ends the span."""
        if self._tracer is None or self._span is None:
            yield
            return
        try:
            with self._tracer.current(self._span):
                yield
        except BaseException as error:
            self.end(error=error_kind(error))
            raise

    def end(self, *, error: str = "", **attributes: str | int | list[str] | None) -> None:
        """`attributes`: those after `gen_ai.`, with `__` for a dot."""
        if self._tracer is None or self._span is None:
            return
        for name, value in attributes.items():
            if value is not None:
                self._span.set_attribute(f"gen_ai.{name.replace('__', '.')}", value)
        if error:
            self._tracer.fail(self._span, error)
        self._span.end()
        self._span = None


def error_kind(error: BaseException) -> str:
    return error.slug if isinstance(error, IbidError) else type(error).__qualname__


@asynccontextmanager
async def open_tracer(telemetry: Telemetry) -> AsyncIterator[Tracer | None]:
    """The tracer that OTEL_* asks for; None: no traces."""
    if not telemetry.traces:
        yield None
        return
    if telemetry.protocol != HTTP:
        log.warning("no traces: only OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf is supported")
        yield None
        return
    try:
        provider = await asyncio.to_thread(_provider, telemetry)
    except ValueError as error:
        raise StartError("a value of an OTEL_* variable cannot be used") from error
    try:
        yield Tracer(provider)
    finally:
        await _stop(provider)


def _provider(telemetry: Telemetry) -> "TracerProvider":
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import (  # noqa: PLC0415 - only if asked for
        OTLPSpanExporter,
    )
    from opentelemetry.sdk.resources import Resource  # noqa: PLC0415
    from opentelemetry.sdk.trace import TracerProvider  # noqa: PLC0415
    from opentelemetry.sdk.trace.export import BatchSpanProcessor  # noqa: PLC0415

    own = {"service.version": version("ibid")} | ({} if telemetry.named else {"service.name": "ibid"})
    provider = TracerProvider(resource=Resource.create(own), shutdown_on_exit=False)
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    return provider


async def _stop(provider: "TracerProvider") -> None:
    """The SDK waits up to 30 s for its collector: in a thread that nobody waits for so long."""
    done, loop = asyncio.Event(), asyncio.get_running_loop()

    def stop() -> None:
        provider.shutdown()
        if not loop.is_closed():
            loop.call_soon_threadsafe(done.set)

    threading.Thread(target=stop, name="traces", daemon=True).start()
    try:
        async with asyncio.timeout(STOP_SECONDS):
            await done.wait()
    except TimeoutError:
        log.warning("the last traces were not sent")
