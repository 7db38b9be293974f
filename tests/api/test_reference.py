"""The reference page: complete, and safe whatever the document says."""

import base64
import hashlib
import re
from html import unescape
from typing import Any

import pytest
from fastapi import FastAPI

from app.api.reference import STYLE_HASH, body, limits, rendered, text


@pytest.fixture
def spec(app: FastAPI) -> dict[str, Any]:
    """The app's own document."""
    return app.openapi()


def test_every_operation_is_there_and_linked(spec: dict[str, Any]) -> None:
    """By its id."""
    page = rendered(spec)

    for path, entry in spec["paths"].items():
        for method, operation in entry.items():
            assert f"<code>{path}</code>" in page
            assert f'<h2 id="{operation["operationId"]}">' in page
            assert f'<a href="#{operation["operationId"]}">' in page
            assert f">{method.upper()}</code>" in page


def test_every_example_of_every_problem_body_and_event_is_shown(spec: dict[str, Any]) -> None:
    """That is what the page is for."""
    page = unescape(rendered(spec))

    for entry in spec["paths"].values():
        for operation in entry.values():
            contents = [operation.get("requestBody", {}), *operation["responses"].values()]
            for content in contents:
                for media in content.get("content", {}).values():
                    for example in media.get("examples", {}).values():
                        assert text(example["value"]) in page


def test_every_field_of_a_body_is_listed(spec: dict[str, Any]) -> None:
    """With its limits."""
    page = unescape(rendered(spec))

    for name in spec["components"]["schemas"]["ChatBody"]["properties"]:
        assert f"<code>{name}</code>" in page
    assert "string, minLength 1, maxLength 32000" in page
    assert "integer, minimum 1.0, maximum 40" in page


def test_nothing_in_the_document_becomes_markup() -> None:
    """Descriptions and examples are data."""
    evil = "<script>alert(1)</script>"
    operation = {
        "operationId": evil,
        "summary": evil,
        "description": evil,
        "parameters": [{"name": evil, "in": evil, "schema": {"type": evil}, "description": evil}],
        "requestBody": {
            "content": {evil: {"schema": {"properties": {evil: {"type": evil}}}, "example": evil}}
        },
        "responses": {
            evil: {"description": evil, "content": {evil: {"examples": {evil: {"value": {evil: evil}}}}}}
        },
    }
    page = rendered(
        {"info": {"title": evil, "version": evil, "description": evil}, "paths": {evil: {"get": operation}}}
    )

    assert "<script" not in page


def test_the_style_is_allowed_by_its_very_hash(spec: dict[str, Any]) -> None:
    """CSP3: the hash of what stands between the tags."""
    (style,) = re.findall(r"<style>(.*?)</style>", rendered(spec), re.DOTALL)

    assert "sha256-" + base64.b64encode(hashlib.sha256(style.encode()).digest()).decode() == STYLE_HASH


@pytest.mark.parametrize(
    ("schema", "said"),
    [
        ({"type": "integer", "minimum": 1, "default": 5}, "integer, minimum 1, default 5"),
        ({"anyOf": [{"type": "string", "maxLength": 9}, {"type": "null"}]}, "string, maxLength 9"),
        ({"type": "array", "maxItems": 50, "default": []}, "array, maxItems 50"),
        ({"$ref": "#/components/schemas/Rag"}, "Rag"),
        ({"type": "string", "enum": ["a", "b"]}, "string, enum ['a', 'b']"),
        ({"type": "array", "default": []}, "array"),
        ({"type": "boolean", "default": False}, "boolean, default False"),
        ({}, "value"),
    ],
)
def test_a_schema_is_told_in_a_few_words(schema: dict[str, Any], said: str) -> None:
    """Type, limits, default."""
    assert limits(schema) == said


def test_an_operation_without_a_body_shows_none() -> None:
    """No empty heading."""
    assert body({}, {}) == ""
