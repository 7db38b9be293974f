"""/projects/{project}/code: chunks of code, and whole files, cut here; listed, replaced, taken back.

Searchable by the very next request. Written as (tenant, the key's user): a tenant key's rows are shared in
the tenant. What other tools wrote into the table is read, and never changed. Raises what the service raises.
"""

from typing import Annotated, Any

from fastapi import APIRouter, Path, Query
from fastapi import Body as Sent
from starlette.responses import Response

from app import errors
from app.api import coded
from app.api.coded import (
    ClearedReply,
    CodeFileList,
    CodeFilesBody,
    CodeFilesReply,
    CodeReply,
    CodeRows,
    CodeRowsReply,
    CodeWrittenReply,
    FilePath,
)
from app.api.context import Project
from app.api.deps import Asker, Opened, scope_of
from app.api.refusals import ASKING, KEEPING, SENDING
from app.api.replies import shown
from app.api.wire import Json, JsonRoute
from app.problems import responses

router = APIRouter(prefix="/projects", tags=["projects"], route_class=JsonRoute)

NOT_HERE = (errors.KeptElsewhere, errors.InvalidField)
WRITING = (*ASKING, *SENDING, *KEEPING, errors.Rejected, errors.RemovedMeanwhile)
RowId = Annotated[
    str,
    Path(min_length=1, max_length=200, pattern=r"^[^\x00-\x1f\x7f/]+$", description="As told when written."),
]


@router.post(
    "/{project}/code",
    operation_id="keepCode",
    summary="Keep chunks of code",
    status_code=201,
    response_class=Json,
    responses={
        200: shown(CodeWrittenReply | CodeRowsReply, "All replaced earlier ones", coded.REPLACED),  # type: ignore[arg-type]
        201: shown(CodeWrittenReply | CodeRowsReply, "Searchable", coded.WRITTEN),  # type: ignore[arg-type]
        **responses(*WRITING),
    },
)
async def keep(
    who: Asker,
    opened: Opened,
    project: Project,
    body: Annotated[CodeRows, Sent(openapi_examples=dict(coded.POSTED))],
) -> Response:
    """One chunk, or a list of them (an object with `items` comes back): all are kept, or none; an id again
    replaces, but for a whole file's chunks. Without an id it is known by its path and words."""
    bodies = body if isinstance(body, list) else [body]
    outcomes = await opened.code.put(scope_of(who), project, [each.row() for each in bodies])
    items = [coded.written(name, fresh=fresh) for name, fresh in outcomes]
    told: dict[str, Any] = {"items": items} if isinstance(body, list) else items[0]
    return Json(told, 201 if any(fresh for _, fresh in outcomes) else 200)


@router.put(
    "/{project}/code/files",
    operation_id="putCodeFiles",
    summary="Keep whole files",
    response_class=Json,
    responses={
        200: shown(CodeFilesReply, "Searchable", coded.FILED),
        **responses(*WRITING, errors.Overloaded),
    },
)
async def put(
    who: Asker,
    opened: Opened,
    project: Project,
    body: Annotated[CodeFilesBody, Sent(openapi_examples=dict(coded.PUT))],
) -> Response:
    """Cut into functions, classes and sections. Each file's chunks take the place of those it had, all at
    once; one whose text is kept already costs nothing, one that says nothing is not kept; one whose syntax
    takes too much time or memory to read is cut by lines, and has a `note`. All files, or none."""
    done = await opened.code.sync(scope_of(who), project, body.given())
    return Json({"items": [coded.filed(each) for each in done]})


@router.get(
    "/{project}/code/files",
    operation_id="listCodeFiles",
    summary="List the files kept",
    response_class=Json,
    responses={
        200: shown(CodeFileList, "A page, by path", coded.FILES),
        **responses(*ASKING, errors.InvalidField),
    },
)
async def files(
    *,
    who: Asker,
    opened: Opened,
    project: Project,
    cursor: Annotated[FilePath | None, Query(description="`next` of the page before.")] = None,
    limit: Annotated[int, Query(ge=1, le=1_000)] = 500,
) -> Response:
    """With the SHA-256 of each one's text, so that a client knows which have changed. What you write, no
    other's; of a file that is not as it was put (another tool wrote over a chunk, or its vectors are another
    model's) the hash is empty: put it again."""
    found, after = await opened.code.files(scope_of(who), project, after=cursor or "", limit=limit)
    return Json({"items": [coded.listed(each) for each in found], "next": after})


@router.delete(
    "/{project}/code/files",
    operation_id="deleteCodeFiles",
    summary="Remove files",
    response_class=Json,
    responses={
        200: shown(ClearedReply, "Gone from the next answer on", coded.CLEARED),
        **responses(*ASKING, *KEEPING, errors.InvalidField, errors.Rejected),
    },
)
async def drop(
    who: Asker,
    opened: Opened,
    project: Project,
    path: Annotated[
        list[FilePath], Query(min_length=1, max_length=coded.MOST, description="One, or several.")
    ],
) -> Response:
    """Those of the paths that are kept; what is not there is no error."""
    return Json({"removed": await opened.code.remove_files(scope_of(who), project, path)})


@router.delete(
    "/{project}/code",
    operation_id="deleteCode",
    summary="Remove a project's code",
    status_code=204,
    responses={**responses(*ASKING, *KEEPING, errors.Missing, errors.InvalidField, errors.Rejected)},
)
async def clear(who: Asker, opened: Opened, project: Project) -> Response:
    """All chunks and files that you keep of it; what another tool wrote stays, adopted or not."""
    if not await opened.code.clear(scope_of(who), project):
        raise errors.Missing("there is no code of yours in this project")
    return Response(status_code=204)


@router.get(
    "/{project}/code/{row_id}",
    operation_id="getCode",
    summary="Read a chunk",
    response_class=Json,
    responses={
        200: shown(CodeReply, "The chunk", coded.CODE),
        **responses(*ASKING, errors.Missing, errors.InvalidField),
    },
)
async def read(who: Asker, opened: Opened, project: Project, row_id: RowId) -> Response:
    """Yours, or one that the tenant shares."""
    return Json(coded.code(await opened.code.get(scope_of(who), project, row_id)))


@router.delete(
    "/{project}/code/{row_id}",
    operation_id="deleteCodeChunk",
    summary="Remove a chunk",
    status_code=204,
    responses={**responses(*ASKING, *KEEPING, *NOT_HERE, errors.Missing, errors.Rejected)},
)
async def remove(who: Asker, opened: Opened, project: Project, row_id: RowId) -> Response:
    """Gone from the next answer on. One of a whole file comes back when the file is put with another text;
    one that another tool wrote is not removed here."""
    await opened.code.remove(scope_of(who), project, row_id)
    return Response(status_code=204)
