"""/healthz: the process runs, no I/O. /readyz: each dependency asked at once, with a deadline. No key needed,
so neither says more than names, times and one word of why. `ms` are milliseconds.
"""

import asyncio
import time
from importlib.metadata import version
from typing import Any

from fastapi import APIRouter
from starlette.responses import Response

from app.api import examples
from app.api.deps import Opened
from app.api.replies import Alive, Readiness, shown
from app.api.wire import Json
from app.errors import IbidError, RetrievalError
from app.problems import responses
from app.types import Probe

PROBE_SECONDS = 2.0
"""What one dependency has to answer; load balancers give up soon after."""
VERSION = version("ibid")

router = APIRouter(tags=["health"])


@router.head("/healthz", include_in_schema=False)
@router.get(
    "/healthz",
    operation_id="alive",
    summary="Does the process run?",
    response_class=Json,
    responses={
        200: shown(Alive, "It runs", examples.ALIVE),
        **responses(),
    },
)
async def healthz() -> Response:
    """Nothing is asked: for restarts, not for routing."""
    return Json({"status": "alive", "version": VERSION})


@router.head("/readyz", include_in_schema=False)
@router.get(
    "/readyz",
    operation_id="ready",
    summary="Can it answer?",
    response_class=Json,
    responses={
        200: shown(Readiness, "It can", examples.READY),
        503: shown(Readiness, "A dependency that answers need is down", examples.NOT_READY),
        **responses(),
    },
)
async def readyz(opened: Opened) -> Response:
    """Every dependency and how long it took; 503 only for those that answers need."""
    needed = [checked(probe, needed=True) for probe in opened.probes]
    optional = [checked(probe, needed=False) for probe in opened.optional]
    checks = await asyncio.gather(*needed, *optional)
    ready = all(check["ok"] for check in checks if check["needed"])
    return Json({"ready": ready, "checks": checks}, 200 if ready else 503)


async def checked(probe: Probe, *, needed: bool) -> dict[str, Any]:
    """One dependency's line."""
    started = time.perf_counter()
    facts, reason = await answered(probe)
    ms = facts.pop("ms", round((time.perf_counter() - started) * 1000))  # what it took, of a kept result
    told = {"name": probe.name, "ok": reason is None, "needed": needed, "ms": ms, "facts": dict(facts)}
    return told if reason is None else {**told, "reason": reason}


async def answered(probe: Probe) -> tuple[dict[str, Any], str | None]:
    """(facts, None), or ({}, one word of why not)."""
    try:
        async with asyncio.timeout(PROBE_SECONDS):
            return dict(await probe.check()), None
    except TimeoutError:
        return {}, "timeout"
    except RetrievalError as error:
        return {}, error.reason
    except IbidError as error:
        return {}, error.slug
