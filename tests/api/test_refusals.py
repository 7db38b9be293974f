"""Every problem of the tree is either declared by a route or known not to be one."""

import re
from pathlib import Path

import httpx
from fastapi import FastAPI

from app import errors
from app.errors import kinds

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


def test_nothing_is_declared_that_does_not_exist(app: FastAPI) -> None:
    """Slugs come from the tree alone."""
    assert declared(app) <= {kind.slug for kind in kinds()}
