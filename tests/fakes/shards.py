"""What `tests/fakes/qdrant.py` stores: a shard of Qdrant's engine a collection, asked in its REST's JSON."""

import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeAlias

import qdrant_edge as engine

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
