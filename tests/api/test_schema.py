"""The OpenAPI document: true, complete, and with an example of everything."""

from typing import Any

import httpx
import pytest
from fastapi import FastAPI
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]

from app.main import create_app
from app.settings import Enable, Rag, Settings
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
    """All of them."""
    return [operation for entry in spec["paths"].values() for operation in entry.values()]


def contents(spec: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    """(media type, content) of every body and response."""
    found = []
    for operation in operations(spec):
        for part in (operation.get("requestBody", {}), *operation["responses"].values()):
            found += list(part.get("content", {}).items())
    return found


def examples(content: dict[str, Any]) -> list[object]:
    """The values."""
    single = [content["example"]] if "example" in content else []
    return single + [example["value"] for example in content.get("examples", {}).values()]


def test_an_upload_tells_where_the_document_is(spec: dict[str, Any]) -> None:
    """Its Location, and what can be asked with its id: operations and parameters that there are."""
    found = {operation["operationId"]: operation for operation in operations(spec)}
    answers = found["uploadDocument"]["responses"]
    for status in ("200", "201", "202"):
        assert "Location" in answers[status]["headers"]
        for link in answers[status]["links"].values():
            named = {parameter["name"] for parameter in found[link["operationId"]]["parameters"]}
            assert set(link["parameters"]) <= named


def test_it_shows_what_answers(fakes: Fakes) -> None:
    """The /vantage routes, and their tag, where they are on; nothing of them where they are off."""
    for on in (True, False):
        enabled = Settings(_env_file=None, enable=Enable(vantage_endpoints=on))
        spec = create_app(enabled, fakes.services()).openapi()
        paths = [path for path in spec["paths"] if path.startswith("/vantage/")]
        assert (bool(paths), "vantage" in {tag["name"] for tag in spec["tags"]}) == (on, on)


async def test_it_is_served(client: httpx.AsyncClient, spec: dict[str, Any]) -> None:
    """For tools."""
    response = await client.get("/openapi.json")

    assert response.json() == spec
    assert spec["openapi"].startswith("3.1")


def test_every_body_and_reply_has_an_example(spec: dict[str, Any]) -> None:
    """But for the bytes of a PDF."""
    for media, content in contents(spec):
        assert media == "application/pdf" or examples(content), media


def test_every_json_example_fits_its_schema(spec: dict[str, Any]) -> None:
    """An example that is wrong teaches the wrong thing."""
    found = [
        (content["schema"], value)
        for media, content in contents(spec)
        if media == "application/json"
        for value in examples(content)
    ]

    assert len(found) >= 10
    for schema, value in found:
        Draft202012Validator({**schema, "components": spec["components"]}).validate(value)


def test_every_problem_example_has_what_a_problem_must(spec: dict[str, Any]) -> None:
    """And nothing that the schema does not know."""
    schema = spec["components"]["schemas"]["Problem"]
    found = [
        value
        for media, content in contents(spec)
        if media == "application/problem+json"
        for value in examples(content)
    ]

    assert len(found) > 20
    for value in found:
        assert isinstance(value, dict)
        assert set(schema["required"]) <= set(value) <= set(schema["properties"])


def test_every_response_tells_of_the_request_id(spec: dict[str, Any]) -> None:
    """And a 502, 503 and 504 of Retry-After, a 405 of Allow."""
    for operation in operations(spec):
        for status, response in operation["responses"].items():
            assert "X-Request-ID" in response["headers"], (operation["operationId"], status)
            assert ("Retry-After" in response["headers"]) == (status in {"502", "503", "504"})
            assert ("Allow" in response["headers"]) == (status == "405")


def test_every_fault_is_told_as_a_problem(spec: dict[str, Any]) -> None:
    """All but `/readyz`, whose 503 is its own report."""
    for operation in operations(spec):
        for status, response in operation["responses"].items():
            if int(status) >= 400 and (operation["operationId"], status) != ("ready", "503"):
                assert list(response["content"]) == ["application/problem+json"]


@pytest.mark.parametrize("operation", ["getDocument", "getChunk", "listDocuments"])
def test_a_session_can_be_named_where_labels_are_shown(spec: dict[str, Any], operation: str) -> None:
    """In the query, and what it means is said."""
    (found,) = (entry for entry in operations(spec) if entry["operationId"] == operation)
    (session,) = (entry for entry in found["parameters"] if entry["name"] == "session_id")

    assert (session["in"], session["required"]) == ("query", False)
    assert session["description"]


def test_the_frameworks_own_error_schemas_are_gone(spec: dict[str, Any]) -> None:
    """Nothing answers them, and nothing refers to them."""
    assert "ValidationError" not in str(spec)


def test_the_key_is_optional_where_it_is_read(spec: dict[str, Any]) -> None:
    """The open service needs none; health and pages never do."""
    for operation in operations(spec):
        if "api" in str(operation.get("tags")) or operation["tags"] != ["health"]:
            assert operation["security"] == [{"key": []}, {}]
        else:
            assert "security" not in operation
    assert spec["components"]["securitySchemes"]["key"]["scheme"] == "bearer"


def test_operation_ids_are_names_for_clients(spec: dict[str, Any]) -> None:
    """Unique, and what a generated client's method would be called."""
    ids = [operation["operationId"] for operation in operations(spec)]

    assert sorted(ids) == [
        "addKnowledge",
        "alive",
        "chat",
        "computeProfiles",
        "countVotes",
        "deleteCard",
        "deleteCode",
        "deleteCodeChunk",
        "deleteCodeFiles",
        "deleteCollection",
        "deleteConversation",
        "deleteConversations",
        "deleteDocument",
        "deleteDream",
        "deleteDreams",
        "deleteFact",
        "deleteKnowledge",
        "deleteMemory",
        "deleteSession",
        "deleteText",
        "eraseUser",
        "exportUser",
        "getAnswer",
        "getChunk",
        "getCode",
        "getConversation",
        "getDocument",
        "getDream",
        "getFile",
        "getKnowledge",
        "keepCard",
        "keepCode",
        "keepConversations",
        "keepDreams",
        "keepFact",
        "keepMemories",
        "keepTexts",
        "lastMessage",
        "listCards",
        "listCodeFiles",
        "listCollections",
        "listConversations",
        "listDocuments",
        "listDreams",
        "listFacts",
        "listMemories",
        "listSessions",
        "listTexts",
        "listTurns",
        "mixAnswer",
        "projectContext",
        "putCodeFiles",
        "putKnowledge",
        "ragFeedback",
        "ragQuery",
        "ready",
        "replayAnswer",
        "uploadDocument",
        "vantageFeedback",
        "vantagePolicy",
        "vantageQuery",
        "voteMemory",
    ]


@pytest.mark.parametrize("most", [3, 40])
def test_the_bound_of_top_k_is_the_setting(most: int) -> None:
    """Else a client generated from it would be refused."""
    spec = create_app(Settings(_env_file=None, rag=Rag(top_k_max=most))).openapi()

    options = spec["components"]["schemas"]["ChatBody"]["properties"]["top_k"]["anyOf"]
    assert options[0]["maximum"] == most


def test_the_document_is_made_once(app: FastAPI) -> None:
    """It takes a while."""
    assert app.openapi() is app.openapi()
