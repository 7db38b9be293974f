"""/corpus: reference texts for all users of a tenant, in collections that the tenant names.

Written with a tenant key. A text can be searched by the very next request.
"""

from typing import Annotated

from fastapi import APIRouter, Path
from starlette.responses import Response

from app import errors
from app.api.bodies import JsonRoute
from app.api.dependencies import Asker, Cursor, Limit, Opened, scope_of
from app.api.openapi import ASKING, KEEPING, SENDING, operation_id, responses
from app.api.schemas import TextId
from app.api.schemas.corpus import (
    CollectionName,
    CollectionPage,
    NewTexts,
    TextPage,
    TextsWritten,
    TextWritten,
)

router = APIRouter(
    generate_unique_id_function=operation_id, prefix="/corpus", tags=["corpus"], route_class=JsonRoute
)
REMOVING = responses(*ASKING, *KEEPING, errors.Forbidden, errors.Missing, errors.InvalidField)
Where = Annotated[
    CollectionName, Path(description="3 to 100 letters, digits, `.`, `_`, `-`; not memory_raw.")
]


@router.post(
    "/{collection}",
    summary="Store reference texts",
    status_code=201,
    response_description="Searchable",
    responses={
        200: {"model": TextsWritten, "description": "All of them replaced earlier ones"},
        **responses(*ASKING, *SENDING, *KEEPING, errors.Forbidden, errors.RemovedMeanwhile, errors.TooMany),
    },
)
async def keep_texts(
    who: Asker, opened: Opened, collection: Where, body: NewTexts, response: Response
) -> TextsWritten:
    """All are kept, or none; a text of the same id is replaced. A tenant may have 100 collections."""
    outcomes = await opened.corpus.keep(scope_of(who), collection, body.given())
    response.status_code = 201 if any(fresh for _, fresh in outcomes) else 200
    items = [
        TextWritten(outcome="created" if fresh else "replaced", id=text.id, tokens=text.tokens)
        for text, fresh in outcomes
    ]
    return TextsWritten(collection=collection, items=items)


@router.get(
    "",
    summary="List collections",
    response_description="By name",
    responses=responses(*ASKING),
)
async def list_collections(who: Asker, opened: Opened) -> CollectionPage:
    """Those that were written here; those that other tools wrote are searched too."""
    found = await opened.corpus.collections(scope_of(who))
    return CollectionPage(items=found, next=None, total=len(found))


@router.get(
    "/{collection}",
    summary="List reference texts",
    response_description="A page, by id",
    responses=responses(*ASKING, errors.Missing, errors.InvalidField),
)
async def list_texts(
    who: Asker, opened: Opened, collection: Where, cursor: Cursor = None, limit: Limit = 50
) -> TextPage:
    """As they were written here; what other tools wrote into the collection is searched, but not listed."""
    found, after = await opened.corpus.texts(scope_of(who), collection, cursor=cursor, limit=limit)
    return TextPage(items=found, next=after)


@router.delete(
    "/{collection}",
    summary="Delete a collection",
    status_code=204,
    response_class=Response,
    responses=REMOVING,
)
async def delete_collection(who: Asker, opened: Opened, collection: Where) -> None:
    """All of the tenant's texts that were written here are gone from the next answer on. What other tools or
    another tenant wrote into it stays."""
    await opened.corpus.remove_all(scope_of(who), collection)


@router.delete(
    "/{collection}/{text_id}",
    summary="Delete a reference text",
    status_code=204,
    response_class=Response,
    responses=REMOVING,
)
async def delete_text(
    who: Asker,
    opened: Opened,
    collection: Where,
    text_id: Annotated[TextId, Path(description="The text's id in the collection.")],
) -> None:
    """Gone from the next answer on."""
    await opened.corpus.remove(scope_of(who), collection, text_id)
