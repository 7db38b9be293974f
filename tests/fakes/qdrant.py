"""A Qdrant server on loopback: the REST calls that the vendor's client makes, answered by the vendor's own
engine, a shard a collection."""

import asyncio
import json
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, TypeAlias
from urllib.parse import parse_qs, unquote, urlsplit

import qdrant_edge as engine

from app.child import Call
from app.process import ChildReply
from app.process import Fault as Failed
from app.retrieval.retrievers import qdrant_engine
from app.retrieval.retrievers.qdrant import QdrantProcess

LAG = 0.5


Json: TypeAlias = dict[str, Any]
DISTANCES: Mapping[str, engine.Distance] = {
    "Cosine": engine.Distance.Cosine,
    "Dot": engine.Distance.Dot,
    "Euclid": engine.Distance.Euclid,
    "Manhattan": engine.Distance.Manhattan,
}
CLAUSES = ("must", "should", "must_not")
SCHEMAS: Mapping[str, engine.PayloadSchemaType] = {
    "keyword": engine.PayloadSchemaType.Keyword,
    "datetime": engine.PayloadSchemaType.Datetime,
}


class Stored:
    """A collection. `params` is the body that created it."""

    def __init__(self, folder: Path, params: Json) -> None:
        folder.mkdir(parents=True)
        self.params = params
        self.schema: Json = {}
        self.named = "size" not in (params.get("vectors") or {})
        self.lock = threading.Lock()
        vectors = params.get("vectors") or {}
        sparse = params.get("sparse_vectors") or {}
        self.shard = engine.EdgeShard.create(
            str(folder),
            engine.EdgeConfig(
                vectors={name: dense(each) for name, each in vectors.items()} or None
                if self.named
                else dense(vectors),
                sparse_vectors={name: weights(each) for name, each in sparse.items()} or None,
            ),
        )

    def close(self) -> None:
        self.shard.close()

    def info(self) -> Json:
        none: Json = {}
        return {
            "status": "green",
            "optimizer_status": "ok",
            "points_count": self.shard.info().points_count,
            "segments_count": 1,
            "config": {
                "params": {name: self.params.get(name) or none for name in ("vectors", "sparse_vectors")},
                "hnsw_config": {"m": 16, "ef_construct": 100, "full_scan_threshold": 10_000},
                "optimizer_config": {
                    "deleted_threshold": 0.2,
                    "vacuum_min_vector_number": 1000,
                    "default_segment_number": 0,
                    "flush_interval_sec": 5,
                },
            },
            "payload_schema": self.schema,
        }

    def index(self, body: Json) -> None:
        told = body["field_schema"]
        kind = told if isinstance(told, str) else told["type"]
        tenant = isinstance(told, dict) and bool(told.get("is_tenant"))
        how = engine.KeywordIndexParams(is_tenant=True) if tenant else SCHEMAS[kind]
        self.shard.update(engine.UpdateOperation.create_field_index(body["field_name"], how))
        self.schema[body["field_name"]] = {"data_type": kind, "points": 0}

    def put(self, body: Json) -> None:
        points = [
            engine.Point(each["id"], vectors(each["vector"]), each.get("payload")) for each in body["points"]
        ]
        self.shard.update(engine.UpdateOperation.upsert_points(points))

    def delete(self, body: Json) -> None:
        self.shard.update(engine.UpdateOperation.delete_points_by_filter(condition(body["filter"])))

    def query(self, body: Json) -> Json:
        query = body["query"]
        nearest = query["nearest"] if isinstance(query, dict) and "nearest" in query else query
        request = engine.QueryRequest(
            body["limit"],
            query=engine.Query.Nearest(nearest, using=body.get("using")),
            filter=condition(body.get("filter")),
            params=engine.SearchParams(exact=bool((body.get("params") or {}).get("exact"))),
            with_payload=body.get("with_payload"),
            with_vector=body.get("with_vector"),
        )
        return {"points": [told(point) for point in self.shard.query(request)]}

    def scroll(self, body: Json) -> Json:
        rows, after = self.shard.scroll(
            engine.ScrollRequest(
                offset=body.get("offset"),
                limit=body.get("limit") or 10,
                filter=condition(body.get("filter")),
                with_payload=body.get("with_payload"),
                with_vector=body.get("with_vector"),
            )
        )
        return {"points": [told(row) for row in rows], "next_page_offset": spelt(after)}

    def count(self, body: Json) -> Json:
        ask = engine.CountRequest(exact=body["exact"], filter=condition(body.get("filter")))
        return {"count": self.shard.count(ask)}


def dense(told: Json) -> engine.EdgeVectorParams:
    return engine.EdgeVectorParams(size=told["size"], distance=DISTANCES[told["distance"]])


def weights(told: Json) -> engine.EdgeSparseVectorParams:
    return engine.EdgeSparseVectorParams(
        modifier=engine.Modifier.Idf if told.get("modifier") == "idf" else None
    )


def vectors(told: Any) -> Any:
    """A point's: one without a name, or several by name."""
    return {name: vector(each) for name, each in told.items()} if isinstance(told, dict) else told


def vector(told: Any) -> Any:
    return engine.SparseVector(told["indices"], told["values"]) if isinstance(told, dict) else told


def condition(told: Json | None) -> engine.Filter:
    told = told or {}
    must, should, lacks = ([clause(each) for each in told.get(name) or ()] for name in CLAUSES)
    return engine.Filter(must or None, should or None, lacks or None)


def clause(told: Json) -> Any:
    if "has_id" in told:
        return engine.HasIdCondition(set(told["has_id"]))
    if "is_empty" in told:
        return engine.IsEmptyCondition(told["is_empty"]["key"])
    if "key" in told:
        match = told["match"]
        how = engine.MatchAny(match["any"]) if "any" in match else engine.MatchValue(match["value"])
        return engine.FieldCondition(told["key"], match=how)
    return condition(told)


def told(found: engine.ScoredPoint | engine.Record) -> Json:
    shown: Json = {"id": spelt(found.id), "payload": found.payload, "vector": plain(found.vector)}
    if isinstance(found, engine.ScoredPoint):
        shown |= {"score": found.score, "version": found.version}
    return shown


def plain(vector: Any) -> Any:
    """Vectors as JSON; the only one without a name comes alone."""
    if isinstance(vector, engine.SparseVector):
        return {"indices": list(vector.indices), "values": list(vector.values)}
    if isinstance(vector, dict):
        named = {name: plain(each) for name, each in vector.items()}
        return named[""] if list(named) == [""] else named
    return vector


def spelt(identity: Any) -> Any:
    return identity if isinstance(identity, int | None) else str(identity)


@dataclass(frozen=True)
class Fault:
    only: str = ""
    """Part of the path it holds for; "": every path."""
    status: int = 200
    """Every answer's."""
    delay: float = 0.0
    """Seconds before an answer; a large number hangs it until the server stops."""
    garbage: bool = False
    """200 with JSON of no known form."""
    cut: bool = False
    """The connection is cut in the middle of the answer."""
    vanishing: bool = False
    """A collection is deleted when it is first searched, before the answer."""


@dataclass
class QdrantServer:
    """A running one. Change `fault` at any time, from any thread."""

    folder: Path
    fault: Fault = field(default_factory=Fault)
    key: str = ""
    """The api-key it wants; "": none."""
    requests: list[tuple[str, str]] = field(default_factory=list)
    """Method and path of every call, in order."""
    bodies: list[Json] = field(default_factory=list)
    collections: dict[str, Stored] = field(default_factory=dict)
    port: int = 0
    over: threading.Event = field(default_factory=threading.Event)
    lock: threading.Lock = field(default_factory=threading.Lock)
    http: ThreadingHTTPServer | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        self.over.clear()
        self.http = ThreadingHTTPServer(("127.0.0.1", self.port), handler(self))
        self.http.daemon_threads = True
        self.port = self.http.server_port
        threading.Thread(target=self.http.serve_forever, args=(0.05,), daemon=True).start()

    def stop(self) -> None:
        self.over.set()
        if self.http:
            self.http.shutdown()
            self.http.server_close()

    def create(self, name: str, body: Json) -> None:
        """A collection of any shape, as by another tool: `{"vectors": {"size": 8, "distance": "Cosine"}}`."""
        self.collections[name] = Stored(self.folder / str(len(list(self.folder.iterdir()))), body)

    def plant(self, name: str, points: list[Json]) -> None:
        """Points as another tool wrote them: [{"id": 1, "vector": […], "payload": {…}}]."""
        self.collections[name].put({"points": points})

    def answer(self, method: str, path: str, query: Mapping[str, list[str]], body: Json) -> tuple[int, Any]:
        parts = [unquote(part) for part in path.strip("/").split("/")]
        match parts, method:
            case [""], "GET":
                return 200, {"title": "qdrant - vector search engine", "version": "1.20.0", "commit": "fake"}
            case ["collections"], "GET":
                return 200, {"collections": [{"name": name} for name in self.collections]}
            case ["collections", name, *rest], _:
                wait = query.get("wait") == ["true"]
                return self._whole(name, method, rest, body) or self._within(name, method, rest, body, wait)
        return 404, "no such path"

    def _whole(self, name: str, method: str, rest: list[str], body: Json) -> tuple[int, Any] | None:
        """Calls that need no collection; None: it is another."""
        match rest, method:
            case ["exists"], "GET":
                return 200, {"exists": name in self.collections}
            case [], "DELETE":
                return 200, self.collections.pop(name, None) is not None
            case [], "PUT" if name in self.collections:
                return 409, f"Collection `{name}` already exists!"
            case [], "PUT":
                self.create(name, body)
                return 200, True
        return None

    def _within(self, name: str, method: str, rest: list[str], body: Json, wait: bool) -> tuple[int, Any]:
        if self.fault.vanishing and self.fault.only in f"/{name}" and "query" in rest:
            self.collections.pop(name, None)
        stored = self.collections.get(name)
        if stored is None:
            return 404, f"Not found: Collection `{name}` doesn't exist!"
        reads: Mapping[tuple[str, ...], Callable[[], Any]] = {
            (): stored.info if method == "GET" else lambda: True,
            ("points", "query"): lambda: stored.query(body),
            ("points", "scroll"): lambda: stored.scroll(body),
            ("points", "count"): lambda: stored.count(body),
        }
        writes: Mapping[tuple[str, ...], Callable[[], Any]] = {
            ("index",): lambda: stored.index(body),
            ("points",): lambda: stored.put(body),
            ("points", "delete"): lambda: stored.delete(body),
        }
        if tuple(rest) in reads:
            return 200, reads[tuple(rest)]()
        if wait:
            writes[tuple(rest)]()
        else:
            threading.Timer(LAG, writes[tuple(rest)]).start()
        return 200, {"operation_id": 1, "status": "completed" if wait else "acknowledged"}

    def respond(self, call: BaseHTTPRequestHandler) -> tuple[int, bytes]:
        """One call: noted, spoilt as the fault says, answered."""
        target = urlsplit(call.path)
        raw = call.rfile.read(int(call.headers.get("content-length") or 0))
        body = json.loads(raw) if raw else {}
        with self.lock:
            self.requests.append((call.command, target.path))
            self.bodies.append(body)
        fault = self.fault if self.fault.only in target.path else Fault()
        if fault.delay:
            self.over.wait(fault.delay)
        if self.key and call.headers.get("api-key") != self.key:
            return 401, b"Must provide an API key or an Authorization bearer token"
        if fault.status != 200:
            return fault.status, b'{"status": {"error": "scripted fault"}, "time": 0.0}'
        if fault.garbage:
            return 200, b'{"surprise": [1, 2'
        try:
            status, result = self.answer(call.command, target.path, parse_qs(target.query), body)
        except Exception as error:  # noqa: BLE001 - the engine raises nothing more exact
            status, result = 400, str(error)
        told = {"result": result} if status == 200 else {"status": {"error": result}}
        whole = result if target.path == "/" else {"status": "ok", "time": 0.0, **told}
        return status, json.dumps(whole).encode()


def handler(server: QdrantServer) -> type[BaseHTTPRequestHandler]:

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True
        timeout = 30

        def serve(self) -> None:
            status, content = server.respond(self)
            if server.over.is_set():
                self.close_connection = True
                return
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            if server.fault.cut:
                self.wfile.write(content[: len(content) // 2])
                self.close_connection = True
                return
            self.wfile.write(content)

        do_GET = do_PUT = do_POST = do_DELETE = do_PATCH = serve  # noqa: N815 - as the library calls them

        def log_message(self, *args: Any) -> None:
            """Nothing."""

    return Handler


@contextmanager
def qdrant_server(folder: Path, *, key: str = "") -> Iterator[QdrantServer]:
    """A server that keeps its collections in `folder` until the end of the block."""
    folder.mkdir(parents=True, exist_ok=True)
    server = QdrantServer(folder, key=key)
    server.start()
    try:
        yield server
    finally:
        server.stop()
        for stored in server.collections.values():
            stored.close()


class EngineThread:
    """The embedded engine in a thread, called like its child process: no 0.25 s for a start."""

    def __init__(self, folder: Path) -> None:
        self.engine = qdrant_engine.EmbeddedQdrant(folder)

    async def call(self, name: str, payload: Mapping[str, Any], data: bytes, **_: object) -> ChildReply:
        call = EngineCall(name, json.loads(json.dumps(payload)), data)
        await asyncio.to_thread(qdrant_engine.answer, self.engine, call)
        return call.result()

    async def close(self) -> None:
        await asyncio.to_thread(self.engine.close)


class EngineCall(Call):
    """A call as the engine's process receives it."""

    def __init__(self, name: str, payload: dict[str, Any], data: bytes) -> None:
        self.name, self.payload, self.data = name, payload, bytearray(data)
        self.answered: ChildReply | Failed

    def reply(self, payload: Mapping[str, Any] | None = None, data: bytes = b"") -> None:
        self.answered = ChildReply(dict(payload or {}), data)

    def fail(self, payload: Mapping[str, Any]) -> None:
        self.answered = Failed(dict(payload))

    def result(self) -> ChildReply:
        if isinstance(self.answered, Failed):
            raise self.answered
        return self.answered


class QdrantThread(QdrantProcess):
    """The embedded engine without its process, which `test_qdrant_process.py` is about."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.process = EngineThread(folder)  # type: ignore[assignment]
