"""The OpenAPI document: true, complete, with an example of everything."""

import re
from pathlib import Path
from typing import Any

import httpx
import pytest
from fastapi import FastAPI
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]
from pydantic import ValidationError

from app import errors
from app.api.schemas.documents import UploadFields
from app.errors import kinds
from app.main import create_app
from app.settings import Enable, Rag, Settings
from tests.fakes.server import events
from tests.fakes.services import Fakes

Operation = dict[str, Any]


@pytest.fixture
def settings(settings: Settings) -> Settings:
    """With every route that there is."""
    return settings.model_copy(update={"enable": Enable(vantage_endpoints=True)})


@pytest.fixture(scope="module")
def spec() -> dict[str, Any]:
    """The document, made once: it takes a while."""
    every = Settings(_env_file=None, enable=Enable(vantage_endpoints=True))
    return create_app(every, Fakes().services()).openapi()


def operations(spec: dict[str, Any]) -> list[Operation]:
    return [operation for entry in spec["paths"].values() for operation in entry.values()]


def contents(spec: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    """(media type, content) of every body and response."""
    found = []
    for operation in operations(spec):
        for part in (operation.get("requestBody", {}), *operation["responses"].values()):
            found += list(part.get("content", {}).items())
    return found


def examples(spec: dict[str, Any], content: dict[str, Any]) -> list[object]:
    """The values, of the content or of its schema."""
    schema = content.get("schema", {})
    kinds = [resolved(spec, each) for each in (schema, *schema.get("anyOf", ()))]
    named = [example["value"] for example in content.get("examples", {}).values()]
    return named + [value for kind in kinds for value in kind.get("examples", ())]


def resolved(spec: dict[str, Any], schema: dict[str, Any]) -> dict[str, Any]:
    """The schema that a reference names."""
    name = schema.get("$ref", "").rpartition("/")[2]
    found: dict[str, Any] = spec["components"]["schemas"][name] if name else schema
    return found


def schemas(spec: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    return list(spec["components"]["schemas"].items())


def test_it_shows_what_answers(spec: dict[str, Any]) -> None:
    """The /vantage routes, and their tag, where they are on; nothing of them where they are off. And the
    bound of `top_k` is the setting: else a client generated from it would be refused."""
    without = create_app(Settings(_env_file=None, rag=Rag(top_k_max=3))).openapi()
    for document, on, most in ((spec, True, 40), (without, False, 3)):
        paths = [path for path in document["paths"] if path.startswith("/vantage/")]
        assert (bool(paths), "vantage" in {tag["name"] for tag in document["tags"]}) == (on, on)
        options = document["components"]["schemas"]["ChatRequest"]["properties"]["top_k"]["anyOf"]
        assert options[0]["maximum"] == most


def test_every_body_and_reply_has_an_example(spec: dict[str, Any]) -> None:
    """But for the bytes of a PDF or an image."""
    for media, content in contents(spec):
        assert media in {"application/pdf", "image/webp"} or examples(spec, content), content


def test_every_example_fits_its_schema(spec: dict[str, Any]) -> None:
    """An example that is wrong teaches the wrong thing."""
    found = [(schema, value) for _, schema in schemas(spec) for value in schema.get("examples", ())]
    assert len(found) > 60
    for schema, value in found:
        Draft202012Validator({**schema, "components": spec["components"]}).validate(value)


@pytest.mark.parametrize(
    ("name", "path"),
    [("ChatRequest", "/api/chat"), ("RagRequest", "/rag/query"), ("VantageRequest", "/vantage/query")],
)
async def test_every_example_of_a_question_is_taken(
    client: httpx.AsyncClient, spec: dict[str, Any], name: str, path: str
) -> None:
    """Copied from the page, it works."""
    for value in spec["components"]["schemas"][name]["examples"]:
        assert (await client.post(path, json=value)).status_code == 200


@pytest.mark.parametrize("path", ["/api/chat", "/rag/query", "/vantage/query"])
def test_an_answer_s_events_are_described(spec: dict[str, Any], path: str) -> None:
    """One by one in their order, as they are sent, each with the schema of its data."""
    content = spec["paths"][path]["post"]["responses"]["200"]["content"]["text/event-stream"]
    found = events(content["examples"]["whole"]["value"])
    assert [event.name for event in found] == ["meta", "token", "citations", "done"]
    data = content["itemSchema"]["properties"]["data"]["contentSchema"]
    for event in found:
        Draft202012Validator({**data, "components": spec["components"]}).validate(event.data)


def test_every_property_and_parameter_is_described(spec: dict[str, Any]) -> None:
    """And so is every schema, tag and operation."""
    told = {f"{name}.{field}" for name, schema in schemas(spec) for field in schema.get("properties", {})}
    described = {
        f"{name}.{field}"
        for name, schema in schemas(spec)
        for field, entry in schema.get("properties", {}).items()
        if {**resolved(spec, entry), **entry}.get("description")
    }
    assert told == described
    assert all(schema.get("description") for _, schema in schemas(spec))
    for operation in operations(spec):
        assert operation["summary"]
        assert operation["description"]
        for parameter in operation.get("parameters", ()):
            assert parameter.get("description"), (operation["operationId"], parameter["name"])
    declared = {tag["name"] for tag in spec["tags"]}
    assert {tag for operation in operations(spec) for tag in operation["tags"]} == declared


def test_every_problem_example_has_what_a_problem_must(spec: dict[str, Any]) -> None:
    """And nothing that the schema does not know."""
    schema = spec["components"]["schemas"]["Problem"]
    found = [
        value
        for media, content in contents(spec)
        if media == "application/problem+json"
        for value in examples(spec, content)
    ]

    assert len(found) > 20
    for value in found:
        assert isinstance(value, dict)
        assert set(schema["required"]) <= set(value) <= set(schema["properties"])


def test_every_response_tells_of_the_request_id(spec: dict[str, Any]) -> None:
    """And a 429, 502, 503 and 504 of Retry-After, a 429 of RateLimit, a 405 of Allow."""
    for operation in operations(spec):
        for status, response in operation["responses"].items():
            assert "X-Request-ID" in response["headers"], (operation["operationId"], status)
            assert ("Retry-After" in response["headers"]) == (status in {"429", "502", "503", "504"})
            assert ("RateLimit" in response["headers"]) == (status == "429")
            assert ("Allow" in response["headers"]) == (status == "405")


def test_every_fault_is_told_as_a_problem(spec: dict[str, Any]) -> None:
    """All but `/readyz`, whose 503 is its own report, and the paths of OpenAI's protocol."""
    for operation in operations(spec):
        openai = operation["tags"] == ["openai"]
        for status, response in operation["responses"].items():
            if int(status) >= 400 and (operation["operationId"], status) != ("ready", "503"):
                media = "application/json" if openai else "application/problem+json"
                assert list(response["content"]) == [media]


def test_the_key_is_optional_where_it_is_read(spec: dict[str, Any]) -> None:
    """The open service needs none; health and pages never do."""
    for operation in operations(spec):
        if "api" in str(operation.get("tags")) or operation["tags"] != ["health"]:
            assert operation["security"] == [{"key": []}, {}]
        else:
            assert "security" not in operation
    assert spec["components"]["securitySchemes"]["key"]["scheme"] == "bearer"


@pytest.mark.parametrize(
    ("fields", "fits"),
    [
        pytest.param({"session_id": "s"}, True, id="a session"),
        pytest.param({"scope": "global"}, True, id="all"),
        pytest.param({"session_id": "s", "scope": "global"}, False, id="both"),
        pytest.param({}, False, id="neither"),
    ],
)
def test_the_upload_is_described_as_it_is_taken(
    spec: dict[str, Any], fields: dict[str, str], *, fits: bool
) -> None:
    """One place for a document, in the schema as in the code."""
    content = spec["paths"]["/api/documents"]["post"]["requestBody"]["content"]["multipart/form-data"]

    assert Draft202012Validator(content["schema"]).is_valid({"file": "x", **fields}) == fits
    try:
        UploadFields.model_validate(fields)
    except ValidationError:
        assert not fits
    else:
        assert fits


ELSEWHERE: dict[type[errors.IbidError], str] = {
    errors.StartError: "the service does not run",
    errors.RetrievalError: "never a status: it ends in `degraded`",
}
PAGE = Path(__file__).parents[2] / "docs" / "problems.md"


def declared(app: FastAPI) -> set[str]:
    """The slugs that the document shows."""
    found: set[str] = set()
    for entry in app.openapi()["paths"].values():
        for operation in entry.values():
            for response in operation["responses"].values():
                problems = response.get("content", {}).get("application/problem+json", {})
                found |= set(problems.get("examples", {}))
    return found


def test_no_problem_is_forgotten_in_the_document(app: FastAPI) -> None:
    """A new error must be declared where it can happen."""
    missing = {kind.slug for kind in kinds()} - {kind.slug for kind in ELSEWHERE} - declared(app)

    assert missing == set()


async def test_every_problem_of_the_page_is_in_the_document(client: httpx.AsyncClient) -> None:
    """All that have a status, beneath that status: a client finds there what the page tells people."""
    listed = re.findall(r"(?m)^\| `([a-z-]+)` \| (\d{3}) \|", PAGE.read_text(encoding="utf-8"))
    paths = (await client.get("/openapi.json")).json()["paths"]
    answers = [
        answer
        for entry in paths.values()
        for operation in entry.values()
        for answer in operation["responses"].items()
    ]
    shown = {
        (slug, status)
        for status, answer in answers
        for slug in answer.get("content", {}).get("application/problem+json", {}).get("examples", {})
    }

    assert len(listed) > 20
    assert set(listed) - shown == set()
