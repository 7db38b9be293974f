"""What every problem document must be, checked in one place."""

from typing import Any

import httpx


def told(response: httpx.Response, status: int, slug: str) -> dict[str, Any]:
    """The problem document of a response, after checking that it is one (RFC 9457)."""
    assert (response.status_code, response.headers["content-type"]) == (status, "application/problem+json")
    problem: dict[str, Any] = response.json()
    assert problem["type"] == f"urn:ibid:problem:{slug}"
    assert problem["status"] == status
    assert problem["title"]
    assert problem["detail"]
    assert problem["instance"] == response.headers["x-request-id"]
    return problem
