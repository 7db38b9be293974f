"""/corpus: reference texts for all users of a tenant, in collections of its own naming.

Written with a tenant key. Searchable by the very next request. Raises what the service raises.
"""

from typing import Annotated

from fastapi import APIRouter, Body, Path
from starlette.responses import Response

from app import errors
from app.api import kept
from app.api.deps import Asker, Opened, scope_of
from app.api.drafts import Collection, CorpusBody, TextId
from app.api.kept import CollectionList, TextList, TextsReply
from app.api.refusals import ASKING, KEEPING, SENDING
from app.api.replies import shown
from app.api.sessions import Cursor, Limit
from app.api.wire import Json, JsonRoute
from app.problems import responses

router = APIRouter(prefix="/corpus", tags=["corpus"], route_class=JsonRoute)

Where = Annotated[Collection, Path(description="3 to 100 letters, digits, `.`, `_`, `-`; not memory_raw.")]


@router.post(
    "/{collection}",
    operation_id="keepTexts",
    summary="Keep reference texts",
    status_code=201,
    response_class=Json,
    responses={
        200: shown(TextsReply, "All of them replaced earlier ones", kept.KEPT_TEXTS),
        201: shown(TextsReply, "Searchable", kept.KEPT_TEXTS),
        **responses(*ASKING, *SENDING, *KEEPING, errors.Forbidden, errors.RemovedMeanwhile, errors.TooMany),
    },
)
async def keep(
    who: Asker,
    opened: Opened,
    collection: Where,
    body: Annotated[CorpusBody, Body(openapi_examples=dict(kept.TEXTS))],
) -> Response:
    """All are kept, or none; an id again replaces. A tenant may have 100 collections."""
    outcomes = await opened.corpus.keep(scope_of(who), collection, body.given())
    items = [kept.text(reference, fresh=fresh) for reference, fresh in outcomes]
    status = 201 if any(fresh for _, fresh in outcomes) else 200
    return Json({"collection": collection, "items": items}, status)


@router.get(
    "",
    operation_id="listCollections",
    summary="List collections",
    response_class=Json,
    responses={
        200: shown(CollectionList, "By name", kept.COLLECTIONS),
        **responses(*ASKING),
    },
)
async def collections(who: Asker, opened: Opened) -> Response:
    """Those that were written here; ones that other tools wrote are searched too."""
    found = await opened.corpus.collections(scope_of(who))
    return Json({"items": [kept.collection(each) for each in found], "next": None})


@router.get(
    "/{collection}",
    operation_id="listTexts",
    summary="List reference texts",
    response_class=Json,
    responses={
        200: shown(TextList, "A page, by id", kept.LISTED_TEXTS),
        **responses(*ASKING, errors.Missing, errors.InvalidField),
    },
)
async def texts(
    who: Asker, opened: Opened, collection: Where, cursor: Cursor = None, limit: Limit = 50
) -> Response:
    """As they were written here; what other tools wrote into the collection is searched, and not listed."""
    found, after = await opened.corpus.texts(scope_of(who), collection, cursor=cursor, limit=limit)
    return Json({"items": [kept.listed(each) for each in found], "next": after})


@router.delete(
    "/{collection}",
    operation_id="deleteCollection",
    summary="Remove a collection",
    status_code=204,
    responses={**responses(*ASKING, *KEEPING, errors.Forbidden, errors.Missing, errors.InvalidField)},
)
async def clear(who: Asker, opened: Opened, collection: Where) -> Response:
    """All of the tenant's texts that were written here: gone from the next answer on. What other tools wrote
    into it, or another tenant, stays."""
    await opened.corpus.remove_all(scope_of(who), collection)
    return Response(status_code=204)


@router.delete(
    "/{collection}/{text_id}",
    operation_id="deleteText",
    summary="Remove a reference text",
    status_code=204,
    responses={**responses(*ASKING, *KEEPING, errors.Forbidden, errors.Missing, errors.InvalidField)},
)
async def remove(
    who: Asker, opened: Opened, collection: Where, text_id: Annotated[TextId, Path()]
) -> Response:
    """Gone from the next answer on."""
    await opened.corpus.remove(scope_of(who), collection, text_id)
    return Response(status_code=204)
