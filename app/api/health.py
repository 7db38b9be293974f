"""/healthz: the process runs, without any I/O. /readyz: all dependencies are checked concurrently, with a
deadline.

Neither needs a key, so the replies contain only names, times and one-word reasons. `ms` are milliseconds.
"""

import asyncio
import time
from importlib.metadata import version
from typing import Any, Literal

from fastapi import APIRouter
from pydantic import Field
from starlette.responses import Response

from app.api.dependencies import Opened
from app.api.openapi import operation_id, responses
from app.api.schemas import Out, absent
from app.errors import IbidError, RetrievalError
from app.types import Probe

PROBE_SECONDS = 2.0
"""Deadline of one dependency; load balancers give up soon after."""
VERSION = version("ibid")

router = APIRouter(generate_unique_id_function=operation_id, tags=["health"])


class Liveness(Out):
    """Says that the process runs."""

    status: Literal["alive"] = Field(description="Always `alive`.")
    version: str = Field(description="The service's version.")


class DependencyCheck(Out):
    """How one dependency of the service is."""

    name: str = Field(description="Its name.")
    ok: bool = Field(description="Whether it works.")
    needed: bool = Field(description="Whether the service is not ready without it.")
    ms: int = Field(description="How long it took to answer. Models are asked at most every 5 seconds.")
    facts: dict[str, Any] = Field({}, description="Version, kind, model, …")
    reason: str | None = Field(None, exclude_if=absent, description="Only if it fails: why, in one word.")


class Readiness(Out):
    """Whether the service can answer questions."""

    ready: bool = Field(description="Whether every needed dependency works.")
    checks: list[DependencyCheck] = Field(description="Every dependency.")


@router.head("/healthz", include_in_schema=False)
@router.get(
    "/healthz",
    summary="Liveness check",
    response_description="The process runs",
    responses=responses(),
)
async def alive() -> Liveness:
    """Checks no dependency: for restarts, not for routing."""
    return Liveness(status="alive", version=VERSION)


@router.head("/readyz", include_in_schema=False)
@router.get(
    "/readyz",
    summary="Readiness check",
    response_description="Every needed dependency works",
    responses={
        503: {"model": Readiness, "description": "A needed dependency is down"},
        **responses(),
    },
)
async def ready(opened: Opened, response: Response) -> Readiness:
    """Every dependency and how long it took; 503 only for those that answers need."""
    needed = [_checked(probe, needed=True) for probe in opened.probes]
    optional = [_checked(probe, needed=False) for probe in opened.optional]
    checks = await asyncio.gather(*needed, *optional)
    ready = all(check.ok for check in checks if check.needed)
    response.status_code = 200 if ready else 503
    return Readiness(ready=ready, checks=checks)


async def _checked(probe: Probe, *, needed: bool) -> DependencyCheck:
    started = time.perf_counter()
    facts, reason = await _asked(probe)
    ms = facts.pop("ms", round((time.perf_counter() - started) * 1000))  # a cached result has its own
    return DependencyCheck(
        name=probe.name, ok=reason is None, needed=needed, ms=ms, facts=facts, reason=reason
    )


async def _asked(probe: Probe) -> tuple[dict[str, Any], str | None]:
    try:
        async with asyncio.timeout(PROBE_SECONDS):
            return dict(await probe.check()), None
    except TimeoutError:
        return {}, "timeout"
    except RetrievalError as error:
        return {}, error.reason
    except IbidError as error:
        return {}, error.slug
