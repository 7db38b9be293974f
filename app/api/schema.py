"""The OpenAPI document: what FastAPI derives, joined with what it cannot know.

The problem schema, the request id on every response, a key that is optional, the bound of `top_k` that is a
setting; and FastAPI's own error schemas gone, since nothing answers them.
"""

from collections.abc import Sequence
from typing import Any

from fastapi import APIRouter, FastAPI
from fastapi.openapi.utils import get_openapi
from fastapi.routing import APIRoute

from app.problems import EXAMPLE_ID, SCHEMA

DESCRIPTION = """Answers from what you keep, and says for every statement where it comes from.

Errors are application/problem+json (RFC 9457); their type is urn:ibid:problem:<slug>. Every response carries
X-Request-ID; a request may bring its own (letters, digits, . _ -, at most 64). Unknown fields of a body are
refused. Clients ignore events they do not know. Before the first key is made the service is open, and then
serves this machine only; after that, send Authorization: Bearer <key>."""
TAGS = [
    {"name": "chat", "description": "Cited answers."},
    {"name": "documents", "description": "The PDFs that answers come from."},
    {"name": "sessions", "description": "What was uploaded and said together."},
    {"name": "answers", "description": "How each answer came to be."},
    {"name": "memories", "description": "What a person said and kept, and what helped."},
    {"name": "corpus", "description": "Reference texts for all users of a tenant."},
    {"name": "projects", "description": "What a project knows: conversations, dreams, code, rules."},
    {"name": "vantage", "description": "Answers within a policy that decides before the model speaks."},
    {"name": "health", "description": "For those who operate it."},
]
UNUSED = ("HTTPValidationError", "ValidationError")
REQUEST_ID = {
    "description": "The request's id, as in the log and in `instance` of a problem.",
    "schema": {"type": "string"},
    "example": EXAMPLE_ID,
}
ALLOW = {"description": "The methods this path takes.", "schema": {"type": "string"}}
RETRY_AFTER = {"description": "Seconds to wait, where that is known.", "schema": {"type": "integer"}}


def install(app: FastAPI, routers: Sequence[APIRouter], *, top_k_max: int) -> None:
    """Have the app show this document. It is made when first asked for, and kept."""

    def document() -> dict[str, Any]:
        if app.openapi_schema is None:
            app.openapi_schema = complete(derived(app, routers), top_k_max)
            for route in (route for router in routers for route in router.routes):
                if isinstance(route, APIRoute) and route.include_in_schema:
                    exemplify(app.openapi_schema["paths"][route.path_format], route)
        return app.openapi_schema

    app.openapi = document  # type: ignore[method-assign] # FastAPI's own way to extend it


def derived(app: FastAPI, routers: Sequence[APIRouter]) -> dict[str, Any]:
    """FastAPI's part; of the tags those that some route has: /vantage may be off."""
    used = {tag for router in routers for tag in router.tags}
    tags = [tag for tag in TAGS if tag["name"] in used]
    return get_openapi(
        title=app.title, version=app.version, description=DESCRIPTION, routes=app.routes, tags=tags
    )


def complete(spec: dict[str, Any], top_k_max: int) -> dict[str, Any]:
    """Ours."""
    components = spec["components"]
    schemas = {name: found for name, found in components["schemas"].items() if name not in UNUSED}
    components["schemas"] = schemas | {"Problem": dict(SCHEMA)}
    components["headers"] = {"RequestId": REQUEST_ID, "RetryAfter": RETRY_AFTER, "Allow": ALLOW}
    bound(schemas["ChatBody"]["properties"]["top_k"], top_k_max)
    for entry in spec["paths"].values():
        for operation in entry.values():
            headed(operation)
    return spec


def exemplify(entry: dict[str, Any], route: APIRoute) -> None:
    """The examples of a route's responses as they were given: FastAPI leaves out what is null in them."""
    for method in route.methods or ():
        answers = entry[method.lower()]["responses"]
        for status, given in route.responses.items():
            for media, content in given.get("content", {}).items():
                kept = {name: content[name] for name in ("example", "examples") if name in content}
                answers[str(status)]["content"][media].update(kept)


def bound(field: dict[str, Any], most: int) -> None:
    """The upper bound of an optional integer."""
    for option in field["anyOf"]:
        if option.get("type") == "integer":
            option["maximum"] = most


def headed(operation: dict[str, Any]) -> None:
    """Headers on each response; the key optional."""
    for status, response in operation["responses"].items():
        headers = {"X-Request-ID": {"$ref": "#/components/headers/RequestId"}}
        if status in {"502", "503", "504"}:
            headers["Retry-After"] = {"$ref": "#/components/headers/RetryAfter"}
        if status == "405":
            headers["Allow"] = {"$ref": "#/components/headers/Allow"}
        response.setdefault("headers", {}).update(headers)
    if "security" in operation:
        operation["security"] = [*operation["security"], {}]
