"""GET /answers/{answer_id}: what was seen, what was packed, why the rest was not; and POST …/replay: what has
changed since.

An answer belongs to the tenant and the key's user who asked; any other's is `Missing`, as is an id that is
none. An answer can be looked up as soon as its `done` is out.
"""

from dataclasses import asdict
from typing import Any

from fastapi import APIRouter
from starlette.responses import Response

from app import errors
from app.answer import Answer
from app.api import specimens, traced
from app.api.deps import Asker, Opened, scope_of
from app.api.refusals import ASKING
from app.api.replies import AnswerReply, shown
from app.api.wire import Json
from app.problems import responses
from app.types import Entry, Trace, moment

router = APIRouter(prefix="/answers", tags=["answers"])


def shape(answer: Answer) -> dict[str, Any]:
    """An answer with its trace as JSON."""
    trace = answer.trace
    return {
        "answer_id": answer.id,
        "endpoint": answer.endpoint,
        "question": answer.question,
        "answer": answer.text,
        "model": answer.model,
        "created_at": moment(answer.created_at),
        "finish_reason": str(answer.finish) if answer.finish else None,
        "citations": [asdict(citation) for citation in answer.citations],
        "cited": answer.cited,
        "unknown": answer.unknown,
        "appended": answer.appended,
        "usage": asdict(answer.usage),
        "timings": dict(answer.timings),
        "prompt_sha256": answer.prompt_sha256,
        "rag": rag(trace),
        "notes": trace.notes(),
        "degraded": [asdict(item) for item in trace.degraded],
        "searched": trace.searched or answer.question,
        "sources": dict(trace.sources),
        "candidates": [candidate(entry) for entry in trace.entries],
        "recipe": traced.recipe(answer.recipe),
        "ruling": traced.ruling(answer.ruling),
    }


def candidate(entry: Entry) -> dict[str, Any]:
    """A line of the ledger."""
    return asdict(entry) | {"created_at": moment(entry.created_at) if entry.created_at else None}


def rag(trace: Trace) -> dict[str, Any]:
    """How retrieval went, as the reply told it."""
    told = {key: getattr(trace, key) for key in ("used", "cached", "tokens", "budget", "took_ms")}
    told |= {"pending": [asdict(item) for item in trace.pending]} if trace.pending else {}
    return told | {"reason": str(trace.reason), "passages": len(trace.packed)}


@router.get(
    "/{answer_id}",
    operation_id="getAnswer",
    summary="Show how an answer came to be",
    response_class=Json,
    responses={
        200: shown(AnswerReply, "The answer with its trace", specimens.ANSWER),
        **responses(*ASKING, errors.Missing, errors.InvalidField, errors.Rejected),
    },
)
async def answer(who: Asker, opened: Opened, answer_id: str) -> Response:
    """Every passage the search saw with its figures, and what became of it."""
    return Json(shape(await opened.answers.get(scope_of(who), answer_id)))


@router.post(
    "/{answer_id}/replay",
    operation_id="replayAnswer",
    summary="Put the answer's prompt together again, and tell what has changed",
    response_class=Json,
    responses={
        200: shown(traced.ReplayReply, "Whether it is the same, and else what is not", specimens.REPLAY),
        **responses(*ASKING, errors.Missing, errors.InvalidField, errors.Rejected),
    },
)
async def replay(who: Asker, opened: Opened, answer_id: str) -> Response:
    """From what was kept of it and what the stores hold today; no model is asked, and no text shown."""
    return Json(traced.replay(answer_id, await opened.replays.replay(scope_of(who), answer_id)))
