"""POST /v1/search: the passages that an answer would rest on, without an answer."""

from dataclasses import replace

from fastapi import APIRouter, Request

from app import errors
from app.answering.meta import retrieved
from app.api.bodies import JsonRoute
from app.api.dependencies import Asker, Opened, scope_of, within
from app.api.openapi import ASKING, SENDING, operation_id, responses
from app.api.schemas.search import SearchReply, SearchRequest

router = APIRouter(
    generate_unique_id_function=operation_id, prefix="/v1", tags=["search"], route_class=JsonRoute
)


@router.post(
    "/search",
    summary="Search without an answer",
    response_description="The passages, best first",
    responses=responses(*ASKING, *SENDING, errors.Forbidden),
)
async def search(request: Request, who: Asker, opened: Opened, body: SearchRequest) -> SearchReply:
    """For retrievers: the same passages, order and labels as an answer of /api/chat would have. No model is
    asked for an answer, no turn is kept."""
    within(body.top_k, request.app.state.settings.rag.top_k_max)
    scope = scope_of(who, user_id=body.user_id, session_id=body.session_id, project=body.project)
    found = await opened.search.search(
        replace(scope, only=body.filter.filter() if body.filter else None),
        body.query,
        sources=body.sources,
        top_k=body.top_k,
        include=frozenset(body.include),
    )
    told = retrieved(found.trace, found.results)
    return SearchReply.model_validate({**told, "results": found.results, "took_ms": found.trace.took_ms})
