"""The OpenAPI document: FastAPI's own, completed with what it cannot derive.

That is: the problems of each route, the events of an answer, examples (`examples.json`), the request id on
every response, that a key is optional, and the bound of `top_k`, which is a setting.
"""

import http
import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from fastapi import APIRouter, FastAPI
from fastapi.openapi.utils import get_openapi
from fastapi.routing import APIRoute
from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from app import errors
from app.api.schemas import Body, Out
from app.api.schemas.chat import (
    CitationMarks,
    ServerSentEvent,
    TokenEvent,
)
from app.api.schemas.documents import UploadFields
from app.api.schemas.memories import VoteCounts
from app.api.schemas.openai import ChatCompletion, ResponseObject
from app.api.sse import MEDIA as EVENT_STREAM
from app.api.sse import Shapes
from app.errors import IbidError
from app.problems import MEDIA, OpenAIErrorEnvelope, Problem, openai_error, problem_of

DESCRIPTION = """Answers from what you keep, and names the passages they rest on.

Errors are application/problem+json (RFC 9457); their type is `urn:ibid:problem:<slug>`. Every response
carries X-Request-ID; a request may bring its own (letters, digits, `.`, `_`, `-`, at most 64). Unknown fields
of a body are refused. Clients ignore events they do not know. Until the first key is made the service is
open, and then serves this machine only; after that, send `Authorization: Bearer <key>`."""
TAGS = [
    {"name": "chat", "description": "Cited answers from documents and other sources."},
    {"name": "search", "description": "Passages without an answer, for retrievers."},
    {"name": "documents", "description": "The PDFs that answers come from."},
    {"name": "sessions", "description": "Documents and conversations that belong together."},
    {"name": "answers", "description": "How each answer came to be."},
    {"name": "memories", "description": "What people said and kept, answers from it, and votes on it."},
    {"name": "corpus", "description": "Reference texts for all users of a tenant."},
    {"name": "projects", "description": "What a project knows: conversations, dreams, code, rules."},
    {"name": "vantage", "description": "Answers within a policy that decides before the model is asked."},
    {"name": "openai", "description": "OpenAI's protocol, for clients that speak it."},
    {"name": "users", "description": "Export and erasure of everything that is kept about a user."},
    {"name": "health", "description": "For operators."},
    {"name": "metrics", "description": "For Prometheus."},
]
JSON = "application/json"
EXAMPLES: dict[str, list[Any]] = json.loads(Path(__file__).with_name("examples.json").read_bytes())
"""Of requests and replies, by class. They share one setting: a session `thesis` with `report.pdf`."""
UNUSED = ("HTTPValidationError", "ValidationError")
"""FastAPI's own error schemas, which no route uses."""
REQUEST_ID = "01998f3a-9d0c-7c11-8f52-7f4c1d2ab3e4"
ANSWER_ID = "01998f3a-9d21-7e40-a4b3-0c9d6f0b7a55"
DOCUMENT_ID = "01998f39-1c02-7b3a-9c41-5d2f8e6a1b90"
HEADERS = {
    "RequestId": {
        "description": "The request's id, as in the log and in `instance` of a problem.",
        "schema": {"type": "string"},
        "example": REQUEST_ID,
    },
    "RetryAfter": {"description": "Seconds to wait, if known.", "schema": {"type": "integer"}},
    "RateLimit": {
        "description": "What remains of each limit of the key, and the seconds until there is more.",
        "schema": {"type": "string"},
        "example": '"requests";r=0;t=30',
    },
    "Allow": {"description": "The methods of this path.", "schema": {"type": "string"}},
}

ANY: tuple[type[IbidError], ...] = (
    errors.BadInput,
    errors.WrongMethod,
    errors.Stalled,
    errors.UriTooLong,
    errors.HeadersTooLarge,
    errors.Damaged,
    IbidError,
)
"""Problems of any request: malformed HTTP, a wrong method, a stalled client, a head that is too large, a
damaged store, an internal error."""
IDENTIFIED = (
    errors.Unauthorized,
    errors.NotLocal,
    errors.Misdirected,
    errors.InvalidField,
    errors.Unavailable,
)
"""Problems of a route that needs the caller, and is not limited."""
ASKING = (*IDENTIFIED, errors.RateLimited)
"""Problems of a route that needs the caller."""
SENDING = (errors.BadInput, errors.Stalled, errors.TooLarge, errors.WrongType, errors.InvalidField)
"""Problems of a route with a body."""
READING = (
    errors.EmptyFile,
    errors.NotPdf,
    errors.PdfEncrypted,
    errors.PdfDamaged,
    errors.PdfTextless,
    errors.PdfUnreadable,
    errors.PdfTooComplex,
    errors.RemovedMeanwhile,
)
"""Problems of a route that reads a PDF."""
KEEPING = (errors.NoRoom,)
"""Problems of a route that stores something."""
MODEL = (errors.ModelError, errors.ModelRefused, errors.ModelBusy, errors.ModelTimeout, errors.Overloaded)
"""Problems of a route that asks the chat model."""


def operation_id(route: APIRoute) -> str:
    """`list_texts` is the operation `listTexts`."""
    first, *others = route.name.split("_")
    return first + "".join(map(str.capitalize, others))


def responses(*kinds: type[IbidError]) -> dict[int | str, dict[str, Any]]:
    """For `responses=` of a route: these problems and those of any request, with an example each."""
    found: dict[int | str, dict[str, Any]] = {}
    schema = {"$ref": "#/components/schemas/Problem"}
    for kind in (*kinds, *ANY):
        text = http.HTTPStatus(kind.status).phrase
        blank = {"description": text, "content": {MEDIA: {"schema": schema, "examples": {}}}}
        shown = found.setdefault(kind.status, blank)
        shown["content"][MEDIA]["examples"][kind.slug] = {"summary": kind.title, "value": _example(kind)}
    return found


def openai_responses(*kinds: type[IbidError]) -> dict[int | str, dict[str, Any]]:
    """The same on the paths of OpenAI's protocol: its envelope, and 400 for an invalid field."""
    found: dict[int | str, dict[str, Any]] = {}
    schema = {"$ref": "#/components/schemas/OpenAIErrorEnvelope"}
    for kind in (*kinds, *ANY):
        status = 400 if issubclass(kind, errors.InvalidField) else kind.status
        text = http.HTTPStatus(status).phrase
        blank = {"description": text, "content": {JSON: {"schema": schema, "examples": {}}}}
        shown = found.setdefault(status, blank)
        value = openai_error(kind()).model_dump()
        shown["content"][JSON]["examples"][kind.slug] = {"summary": kind.title, "value": value}
    return found


def _example(kind: type[IbidError]) -> dict[str, Any]:
    invalid = errors.InvalidField("top_k must be at least 1", field="body.top_k")
    error = invalid if kind is errors.InvalidField else kind()
    return problem_of(error, REQUEST_ID).model_dump()


def answered(shapes: Shapes, text: str) -> dict[int | str, dict[str, Any]]:
    """For `responses=` of a route that answers: one object or a stream of events, and the problems."""
    kept = {"model": shapes.whole, "description": text, "content": {EVENT_STREAM: events_of(shapes)}}
    return {200: kept, **responses(*ASKING, *SENDING, *MODEL, errors.Forbidden)}


def events_of(shapes: Shapes) -> dict[str, Any]:
    """The events of an answer, with examples."""
    kinds: dict[str, type[BaseModel]] = {
        "meta": shapes.meta,
        "token": TokenEvent,
        "citations": CitationMarks,
        "done": shapes.done,
        "error": Problem,
    }
    data = {"anyOf": [{"$ref": f"#/components/schemas/{kind.__name__}"} for kind in kinds.values()]}
    event = {
        "allOf": [{"$ref": "#/components/schemas/ServerSentEvent"}],
        "properties": {"data": {"contentMediaType": "application/json", "contentSchema": data}},
    }
    shown = {name: kind.__name__ for name, kind in kinds.items() if name != "error"}
    said = {name: json.dumps(EXAMPLES[model][0], ensure_ascii=False) for name, model in shown.items()}
    said["error"] = problem_of(errors.ModelTimeout(), REQUEST_ID).model_dump_json()
    whole = "".join(_event(name, n, said[name]) for n, name in enumerate(list(said)[:4], 1))
    examples = {
        "whole": {"summary": "A whole answer", "value": whole},
        "error": {
            "summary": "An error after the answer has begun",
            "value": _event("error", 3, said["error"]),
        },
        "ping": {"summary": "A comment, every 15 s", "value": ": ping\n\n"},
    }
    # `itemSchema` is OpenAPI 3.2's word for one event of a stream; FastAPI writes it into 3.1 too.
    return {"schema": {"type": "array", "items": event}, "itemSchema": event, "examples": examples}


def completed() -> dict[int | str, dict[str, Any]]:
    """For `responses=`: a chat completion as one object, or as a stream of chunks."""
    kinds = [
        {"$ref": f"#/components/schemas/{name}"} for name in ("ChatCompletionChunk", "OpenAIErrorEnvelope")
    ]
    chunks = (json.dumps(chunk, ensure_ascii=False) for chunk in EXAMPLES["ChatCompletionChunk"])
    sent = "".join(f"data: {each}\n\n" for each in (*chunks, "[DONE]"))
    text = "The answer: one object, or (`stream: true`) a stream of chunks"
    return streamed(ChatCompletion, text, [*kinds, {"const": "[DONE]"}], sent)


def responded() -> dict[int | str, dict[str, Any]]:
    """For `responses=`: a response as one object, or as a stream of events."""
    kinds = [{"$ref": "#/components/schemas/ResponseEvent"}]
    events = EXAMPLES["ResponseEvent"]
    sent = "".join(
        f"event: {each['type']}\ndata: {json.dumps(each, ensure_ascii=False)}\n\n" for each in events
    )
    text = "The answer: one object, or (`stream: true`) a stream of events"
    return streamed(ResponseObject, text, kinds, sent)


def streamed(
    model: type[BaseModel], text: str, kinds: Sequence[dict[str, Any]], sent: str
) -> dict[int | str, dict[str, Any]]:
    """An answer of OpenAI's protocol, and the problems. `kinds`: schemas of the events' data; `sent`: an
    example stream."""
    shown = {"contentMediaType": "application/json", "contentSchema": {"anyOf": kinds}}
    event = {"type": "object", "required": ["data"], "properties": {"data": {"type": "string", **shown}}}
    examples = {"whole": {"summary": "A whole answer", "value": sent}}
    stream = {"schema": {"type": "array", "items": event}, "itemSchema": event, "examples": examples}
    whole = {"model": model, "description": text, "content": {EVENT_STREAM: stream}}
    return {200: whole, **openai_responses(*ASKING, *SENDING, *MODEL, errors.Forbidden, errors.Missing)}


def followed(shapes: Shapes) -> dict[int | str, dict[str, Any]]:
    """For `responses=`: the rest of an answer's events, or nothing."""
    text = "The events, as the first stream has them"
    return {
        200: {"description": text, "content": {EVENT_STREAM: events_of(shapes)}},
        204: {"description": "Nothing follows: the last event has arrived. An EventSource then ends."},
    }


def document_events() -> dict[int | str, dict[str, Any]]:
    """For `responses=`: the events of a document that is being read."""
    shown = {"progress": "ProgressOut", "ready": "DocumentOut", "failed": "DocumentOut", "error": "Problem"}
    said = {name: json.dumps(EXAMPLES[shown[name]][0], ensure_ascii=False) for name in ("progress", "ready")}
    ids = {"ready": f"id: {EXAMPLES['DocumentOut'][0]['id']}:ready\n"}
    kinds = [{"$ref": f"#/components/schemas/{kind}"} for kind in dict.fromkeys(shown.values())]
    data = {"contentMediaType": "application/json", "contentSchema": {"anyOf": kinds}}
    event = {
        "type": "object",
        "required": ["event", "data"],
        "properties": {"id": {"type": "string"}, "data": {"type": "string", **data}},
    }
    sent = "".join(f"{ids.get(name, '')}event: {name}\ndata: {each}\n\n" for name, each in said.items())
    examples = {"whole": {"summary": "To the end", "value": sent}}
    stream = {"schema": {"type": "array", "items": event}, "itemSchema": event, "examples": examples}
    text = "`progress` until `ready` or `failed` with the document"
    return {
        200: {"description": text, "content": {EVENT_STREAM: stream}},
        204: {"description": "Nothing follows: the last event has arrived."},
    }


def ui_stream(text: str) -> dict[int | str, dict[str, Any]]:
    """For `responses=`: an answer in the AI SDK's UI message stream."""
    chunks = (
        {"type": "start", "messageId": ANSWER_ID},
        {"type": "text-start", "id": "answer"},
        {"type": "text-delta", "id": "answer", "delta": "Revenue rose [report.pdf#3]."},
        {"type": "text-end", "id": "answer"},
        {
            "type": "source-document",
            "sourceId": "report.pdf#3",
            "mediaType": "application/pdf",
            "title": "Annual report",
            "filename": "report.pdf",
        },
        {"type": "finish", "finishReason": "stop"},
    )
    shown = "".join(f"data: {json.dumps(chunk)}\n\n" for chunk in chunks) + "data: [DONE]\n\n"
    stream = {"schema": {"type": "string"}, "examples": {"whole": {"summary": text, "value": shown}}}
    return {200: {"description": text, "content": {EVENT_STREAM: stream}}}


def _event(name: str, n: int, data: str) -> str:
    return f"id: {ANSWER_ID}:{n}\nevent: {name}\ndata: {data}\n\n"


def upload_body() -> dict[str, Any]:
    """The form of an upload: its fields, which are all text, and the file."""
    schema = UploadFields.model_json_schema()
    fields = {
        name: {
            **{key: value for key, value in field.items() if key != "anyOf"},
            **field.get("anyOf", [{}])[0],
        }
        for name, field in schema["properties"].items()
    }
    file = {"type": "string", "format": "binary", "description": "The PDF."}
    form = {
        "type": "object",
        "required": ["file"],
        "additionalProperties": False,
        "oneOf": [{"required": ["session_id"]}, {"required": ["scope"]}],
        "properties": {"file": file, **fields},
        "examples": [
            {"file": "(report.pdf)", "session_id": "thesis", "wait": 60},
            {"file": "(report.pdf)", "scope": "global", "replace": "true"},
        ],
    }
    return {"requestBody": {"required": True, "content": {"multipart/form-data": {"schema": form}}}}


UPLOADED: dict[str, Any] = {
    "headers": {
        "Location": {
            "description": "Address of the document.",
            "schema": {"type": "string"},
            "example": f"/api/documents/{DOCUMENT_ID}",
        }
    },
    "links": {
        name: {"operationId": name, "parameters": {"document_id": "$response.body#/id"}}
        for name in ("getDocument", "getFile", "deleteDocument")
    },
}
"""Response headers of an upload."""


def install(app: FastAPI, routers: Sequence[APIRouter], *, top_k_max: int) -> None:
    """Makes the app serve this document, built at the first request."""

    def document() -> dict[str, Any]:
        if app.openapi_schema is None:
            app.openapi_schema = complete(_derived(app, routers), top_k_max)
        return app.openapi_schema

    app.openapi = document  # type: ignore[method-assign] # FastAPI's own way to extend it


def _derived(app: FastAPI, routers: Sequence[APIRouter]) -> dict[str, Any]:
    """FastAPI's part, with only the tags in use: /vantage may be off."""
    used = {tag for router in routers for tag in router.tags}
    tags = [tag for tag in TAGS if tag["name"] in used]
    return get_openapi(
        title=app.title,
        version=app.version,
        description=DESCRIPTION,
        routes=app.routes,
        tags=tags,
        separate_input_output_schemas=False,
    )


def complete(spec: dict[str, Any], top_k_max: int) -> dict[str, Any]:
    for operation in (each for entry in spec["paths"].values() for each in entry.values()):
        if UNUSED[0] in json.dumps(operation["responses"].get("422", {})):
            del operation["responses"]["422"]  # FastAPI's own: an invalid field is a 400 here
        _add_headers(operation)
    schemas = _schemas(spec)
    for name in ("ChatRequest", "SearchRequest"):
        bound(schemas[name]["properties"]["top_k"], top_k_max)
    spec["components"] |= {"schemas": schemas, "headers": HEADERS}
    return renamed(spec)


def _schemas(spec: dict[str, Any]) -> dict[str, Any]:
    """All schemas that the document refers to, by name, with their examples."""
    known = {kind.__name__: kind for kind in _models()}
    schemas = spec["components"]["schemas"]
    for name in UNUSED:
        schemas.pop(name, None)
    missing = [known[name] for name in sorted(_references(spec)) if name not in schemas]
    _, added = models_json_schema(
        [(kind, "validation") for kind in missing], ref_template="#/components/schemas/{model}"
    )
    schemas = dict(sorted((added["$defs"] | schemas).items()))
    for name, shown in EXAMPLES.items():
        if name in schemas:
            schemas[name]["examples"] = shown
    return schemas


def _models() -> Iterator[type[BaseModel]]:
    yield from (Problem, OpenAIErrorEnvelope, ServerSentEvent, VoteCounts)
    left: list[type[BaseModel]] = [Out, Body]
    while left:
        found = left.pop().__subclasses__()
        yield from found
        left += found


def _references(value: object) -> set[str]:
    return set(re.findall(r'"#/components/schemas/(\w+)"', json.dumps(value)))


def renamed(spec: dict[str, Any]) -> dict[str, Any]:
    """Schema names without `Out`: the class `DocumentOut` becomes the schema `Document`."""
    schemas = spec["components"]["schemas"]
    spec["components"]["schemas"] = {name.removesuffix("Out"): found for name, found in schemas.items()}
    plain: dict[str, Any] = json.loads(re.sub(r'(#/components/schemas/\w+?)Out"', r'\1"', json.dumps(spec)))
    return plain


def bound(field: dict[str, Any], most: int) -> None:
    for option in field["anyOf"]:
        if option.get("type") == "integer":
            option["maximum"] = most


def _add_headers(operation: dict[str, Any]) -> None:
    """Response headers of an operation; and that its key is optional."""
    for status, response in operation["responses"].items():
        headers = {"X-Request-ID": {"$ref": "#/components/headers/RequestId"}}
        if status in {"429", "502", "503", "504"}:
            headers["Retry-After"] = {"$ref": "#/components/headers/RetryAfter"}
        if status == "405":
            headers["Allow"] = {"$ref": "#/components/headers/Allow"}
        if status == "429":
            headers["RateLimit"] = {"$ref": "#/components/headers/RateLimit"}
        response.setdefault("headers", {}).update(headers)
    if "security" in operation:
        operation["security"] = [*operation["security"], {}]
