"""Traces over OTLP/HTTP, as a collector of the tests' own receives them."""

import asyncio
import gzip
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from unittest.mock import patch

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span, Status

from tests.fakes.model import Fault, ModelServer, model_server
from tests.fakes.pdfs import text_pdf
from tests.fakes.process import Service, wait_for
from tests.integration.conftest import Host

QUESTION = "How many lanterns does the ferry carry?"
FERRY = text_pdf(["# The ferry\n\nThe ferry carries thirty-one lanterns. The youngest deckhand lights them."])
TRACE, PARENT = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
"""A caller's, from the W3C's examples."""


@dataclass
class Collector:
    url: str
    requests: list[ExportTraceServiceRequest] = field(default_factory=list)

    def spans(self, trace: str = TRACE) -> list[Span]:
        scopes = [
            scope for sent in self.requests for each in sent.resource_spans for scope in each.scope_spans
        ]
        return [span for scope in scopes for span in scope.spans if span.trace_id.hex() == trace]

    def whole(self, name: str, trace: str = TRACE) -> list[Span]:
        """The trace, once its span of that name is there: a request's own span ends last."""
        wait_for(lambda: any(span.name == name for span in self.spans(trace)))
        return self.spans(trace)


@contextmanager
def collecting() -> Iterator[Collector]:
    collector = Collector("")

    class Receiver(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            assert self.path == "/v1/traces"
            raw = self.rfile.read(int(self.headers["content-length"]))
            raw = gzip.decompress(raw) if self.headers.get("content-encoding") == "gzip" else raw
            collector.requests.append(ExportTraceServiceRequest.FromString(raw))
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Receiver)
    collector.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield collector
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@contextmanager
def exporting(url: str, **more: str) -> Iterator[None]:
    variables = {"OTEL_EXPORTER_OTLP_ENDPOINT": url, "OTEL_BSP_SCHEDULE_DELAY": "50"} | more
    with patch.dict(os.environ, variables):
        yield


@dataclass
class Traced:
    service: Service
    model: ModelServer
    collector: Collector

    def chat(self, message: str = QUESTION, *, trace: str = TRACE, **fields: object) -> int:
        body = {"message": message, "session_id": "s", "history": []} | fields
        headers = {"traceparent": f"00-{trace}-{PARENT}-01"}
        return self.service.client.post("/api/chat", json=body, headers=headers).status_code


@pytest.fixture(scope="module")
def traced(host: Host) -> Iterator[Traced]:
    with (
        host.beside(model_server(reply="It carries thirty-one lanterns [ferry.pdf#1].")) as model,
        collecting() as collector,
        exporting(collector.url),
        host(
            CHAT_BASE_URL=model.url, CHAT_MODEL="chatter", EMBED_BASE_URL=model.url, EMBED_MODEL="embedder"
        ) as running,
    ):
        assert running.upload("ferry.pdf", FERRY).status_code == 201
        yield Traced(running, model, collector)


def told(span: Span) -> dict[str, object]:
    found: dict[str, object] = {}
    for item in span.attributes:
        kind = item.value.WhichOneof("value")
        value = getattr(item.value, kind)
        found[item.key] = [each.string_value for each in value.values] if kind == "array_value" else value
    return found


def test_an_answer_is_a_tree_of_spans(traced: Traced) -> None:
    """The caller's trace goes on through the request and its search to both model servers."""
    assert traced.chat() == 200
    spans = traced.collector.whole("POST /api/chat")
    named = {span.name: span for span in spans}
    by_id = {span.span_id: span for span in spans}
    server = named["POST /api/chat"]
    assert (server.kind, server.parent_span_id.hex()) == (Span.SPAN_KIND_SERVER, PARENT)
    assert told(server) | {"http.route": "/api/chat", "http.response.status_code": 200} == told(server)
    for span in spans:
        assert span is server or span.parent_span_id in by_id
        assert server.start_time_unix_nano <= span.start_time_unix_nano
        assert span.end_time_unix_nano <= server.end_time_unix_nano

    stages = {(span.name, told(span).get("ibid.source")) for span in spans if "retrieval" in span.name}
    assert {("retrieval search", "documents"), ("retrieval reach", "documents")} <= stages
    chat, embedding = named["chat chatter"], named["embeddings embedder"]
    assert chat.kind == embedding.kind == Span.SPAN_KIND_CLIENT
    assert by_id[embedding.parent_span_id].name == "retrieval embedding"
    used = told(chat)
    assert (
        used
        | {
            "gen_ai.operation.name": "chat",
            "gen_ai.request.model": "chatter",
            "gen_ai.response.finish_reasons": ["stop"],
            "server.address": "127.0.0.1",
        }
        == used
    )
    for name in ("gen_ai.usage.input_tokens", "gen_ai.usage.output_tokens"):
        assert isinstance(used[name], int)
        assert used[name]
    assert told(embedding)["gen_ai.operation.name"] == "embeddings"

    for path, span in (("/chat/completions", chat), ("/embeddings", embedding)):
        sent = traced.model.asked(path)[-1].headers["traceparent"]
        assert sent == f"00-{TRACE}-{span.span_id.hex()}-01"


def test_no_text_leaves_in_a_trace(traced: Traced) -> None:
    """Nor what a caller chose: sessions, users, ids."""
    trace = "1" * 32
    assert traced.chat("Who polishes the lanterns?", trace=trace, session_id="hush", user_id="ann-x") == 200
    traced.service.client.get("/temporal/ann-x?x=1", headers={"traceparent": f"00-{trace}-{PARENT}-01"})
    spans = traced.collector.whole("GET /temporal/{user_id}", trace)
    written = " ".join(map(str, traced.collector.requests))
    assert len(spans) > 3
    for text in ("polishes", "thirty-one", "deckhand", "hush", "ann-x", "ferry.pdf"):
        assert text not in written


def test_a_failing_model_shows_where(traced: Traced) -> None:
    trace = "2" * 32
    traced.model.fault = Fault(only="/chat", close_after=1)
    try:
        traced.chat(trace=trace, stream=False)
    finally:
        traced.model.fault = Fault()
    named = {span.name: span for span in traced.collector.whole("POST /api/chat", trace)}
    assert told(named["chat chatter"])["error.type"] == "model-failed"
    assert told(named["POST /api/chat"])["error.type"] == "502"
    assert {span.status.code for span in named.values()} >= {Status.STATUS_CODE_ERROR}
    assert not any(span.status.message or span.events for span in named.values())


def test_probes_and_strangers_make_no_names(traced: Traced) -> None:
    """/healthz is asked every second; an unknown path is one name."""
    trace = "3" * 32
    headers = {"traceparent": f"00-{trace}-{PARENT}-01"}
    for path in ("/healthz", "/readyz", "/metrics", "/nowhere/7"):
        traced.service.client.get(path, headers=headers)
    assert [told(span)["http.route"] for span in traced.collector.whole("GET", trace)] == ["unknown"]


@pytest.mark.parametrize("hangs", [False, True])
def test_a_dead_collector_harms_nothing(host: Host, *, hangs: bool) -> None:
    """It refuses connections, or takes them and says nothing. The service stops all the same."""
    with socket.create_server(("127.0.0.1", 0)) as bound:
        port = bound.getsockname()[1]
        if not hangs:
            bound.close()
        with exporting(f"http://127.0.0.1:{port}"), host() as running:
            for _ in range(3):
                assert running.chat(QUESTION)["rag"]["reason"]


@pytest.mark.parametrize(
    "variables",
    [
        {"OTEL_TRACES_EXPORTER": "none"},
        {"OTEL_SDK_DISABLED": "true"},
        {"OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"},
    ],
)
def test_it_can_be_switched_off(host: Host, variables: dict[str, str]) -> None:
    with collecting() as collector, exporting(collector.url, **variables):
        with host() as running:
            running.chat(QUESTION)
        assert collector.requests == []


def test_off_it_costs_no_import() -> None:
    """The SDK takes a tenth of a second to import."""
    code = "import sys, app.main, app.wiring, app.tracing; assert 'opentelemetry.sdk' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_two_services_of_a_process_trace_apart(host: Host, traced: Traced) -> None:
    """No global provider: one without traces sends none to another's collector."""
    trace = "4" * 32
    with exporting(traced.collector.url, OTEL_TRACES_EXPORTER="none"), host() as other:
        other.client.get("/api/sessions", headers={"traceparent": f"00-{trace}-{PARENT}-01"})
    asyncio.run(asyncio.sleep(0.2))
    assert traced.collector.spans(trace) == []
