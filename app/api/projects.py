"""/projects: their list; of each its context, knowledge, code, conversations and dreams.

Written rows are searchable by the next request, on every replica. A tenant key writes rows shared in the
tenant, a user key that user's own: for other users they are `Missing`. Knowledge is read with any key and
written with a tenant key. Rows of other tools are read, and never changed. Conversations and dreams are one
table; a project's profile says which of them it has.
"""

from typing import Annotated, Any

from fastapi import APIRouter, Path, Query
from starlette.responses import Response

from app import errors
from app.api.bodies import JsonRoute
from app.api.dependencies import Asker, Cursor, Limit, Opened, scope_of
from app.api.openapi import ASKING, KEEPING, SENDING, operation_id, responses
from app.api.schemas import ENTRIES_MOST, Name, TextId
from app.api.schemas.projects import (
    CodeChunk,
    CodeFilePage,
    CodeFilesWritten,
    CodesWritten,
    CodeWritten,
    ContextRequest,
    ConversationOut,
    ConversationPage,
    ConversationsWritten,
    ConversationWritten,
    FilePath,
    FilesRemoved,
    KnowledgeOut,
    KnowledgeUpdate,
    NewCodeFiles,
    NewCodes,
    NewConversations,
    NewKnowledge,
    ProjectContextOut,
    ProjectOut,
    ProjectPage,
)
from app.db.conversations import ConversationOutcome
from app.problems import pattern
from app.types import CONVERSATIONS, DREAMS

router = APIRouter(
    generate_unique_id_function=operation_id, prefix="/projects", tags=["projects"], route_class=JsonRoute
)

Project = Annotated[Name, Path(description="A project's name; upper and lower case differ.")]
NOT_HERE = (errors.KeptElsewhere, errors.InvalidField)


@router.get(
    "",
    summary="List projects",
    response_description="A page, by name",
    responses=responses(*ASKING, errors.InvalidField),
)
async def list_projects(
    *, who: Asker, opened: Opened, cursor: Cursor = None, limit: Limit = 50
) -> ProjectPage:
    """Those with rows that you may see, whoever wrote them, or with knowledge."""
    found, after, total = await opened.knowledge.list(scope_of(who), cursor=cursor, limit=limit)
    items = [ProjectOut.of(each) for each in found]
    return ProjectPage(items=items, next=after, total=None if cursor else total)


@router.post(
    "/{project}/context",
    summary="Get a project's context for a message",
    response_description="The context; empty: nothing was found or asked",
    responses=responses(*ASKING, *SENDING),
)
async def project_context(
    who: Asker, opened: Opened, project: Project, body: ContextRequest
) -> ProjectContextOut:
    """What a chat within the project is given, without labels; no model is asked. An undefined project shows
    its conversations and code. Errors of stores are never a status."""
    scope = scope_of(who, project=project)
    return ProjectContextOut.model_validate(
        await opened.projects.build_project_context(project, body.message, scope, body.top_k)
    )


KNOWLEDGE_WRITES: dict[str, Any] = {
    "response_description": "As it is now",
    "responses": responses(*ASKING, *SENDING, *KEEPING, errors.Forbidden, errors.TooMany),
}


@router.put(
    "/{project}/knowledge",
    summary="Replace a project's knowledge",
    **KNOWLEDGE_WRITES,
)
async def put_knowledge(who: Asker, opened: Opened, project: Project, body: NewKnowledge) -> KnowledgeOut:
    """All of it: what is left out is empty from the next prompt on."""
    kept = await opened.knowledge.put(scope_of(who, project=project), body.knowledge())
    return KnowledgeOut.model_validate(kept)


@router.post(
    "/{project}/knowledge",
    summary="Add to a project's knowledge",
    **KNOWLEDGE_WRITES,
)
async def add_knowledge(who: Asker, opened: Opened, project: Project, body: KnowledgeUpdate) -> KnowledgeOut:
    """What is sent replaces what was there, note by note; the rest stays. A project has 50 notes at most."""
    kept = await opened.knowledge.merge(scope_of(who, project=project), body.change())
    return KnowledgeOut.model_validate(kept)


@router.get(
    "/{project}/knowledge",
    summary="Get a project's knowledge",
    response_description="What the model is told about the project",
    responses=responses(*ASKING, errors.Missing, errors.InvalidField),
)
async def get_knowledge(who: Asker, opened: Opened, project: Project) -> KnowledgeOut:
    """As the tenant wrote it."""
    return KnowledgeOut.model_validate(await opened.knowledge.get(scope_of(who, project=project)))


@router.delete(
    "/{project}/knowledge",
    summary="Delete a project's knowledge",
    status_code=204,
    response_class=Response,
    responses=responses(*ASKING, *KEEPING, errors.Forbidden, errors.Missing, errors.InvalidField),
)
async def delete_knowledge(who: Asker, opened: Opened, project: Project) -> None:
    """Gone from the next prompt on."""
    await opened.knowledge.remove(scope_of(who, project=project))


CODE_WRITES = (*ASKING, *SENDING, *KEEPING, errors.Rejected, errors.RemovedMeanwhile)
RowId = Annotated[
    str,
    Path(
        min_length=1,
        max_length=200,
        pattern=pattern(r"^[^\x00-\x1f\x7f/]+$", "must be one line without control characters or `/`"),
        description="As the reply gave it when the row was written.",
    ),
]


@router.post(
    "/{project}/code",
    summary="Store chunks of code",
    status_code=201,
    response_description="Searchable",
    responses={
        200: {"model": CodeWritten | CodesWritten, "description": "All replaced earlier ones"},
        **responses(*CODE_WRITES),
    },
)
async def keep_code(
    who: Asker, opened: Opened, project: Project, body: NewCodes, response: Response
) -> CodeWritten | CodesWritten:
    """One chunk, or a list of them (the reply has `items`): all are kept, or none. A chunk of the same id is
    replaced, unless it belongs to a whole file. Without an id a chunk is known by its path and code."""
    bodies = body if isinstance(body, list) else [body]
    outcomes = await opened.code.put(scope_of(who), project, [each.row() for each in bodies])
    response.status_code = 201 if any(fresh for _, fresh in outcomes) else 200
    items = [CodeWritten(outcome="created" if fresh else "replaced", id=name) for name, fresh in outcomes]
    return CodesWritten(items=items) if isinstance(body, list) else items[0]


@router.put(
    "/{project}/code/files",
    summary="Store whole files",
    response_description="Searchable",
    responses=responses(*CODE_WRITES, errors.Overloaded),
)
async def put_code_files(
    who: Asker, opened: Opened, project: Project, body: NewCodeFiles
) -> CodeFilesWritten:
    """Cut into functions, classes and sections. Each file's chunks replace those it had, all at once. A file
    whose text is kept already costs nothing, one without words is not kept; one whose syntax takes too much
    time or memory to read is cut by lines, and has a `note`. All files are kept, or none."""
    return CodeFilesWritten(items=await opened.code.sync(scope_of(who), project, body.given()))


@router.get(
    "/{project}/code/files",
    summary="List the stored files",
    response_description="A page, by path",
    responses=responses(*ASKING, errors.InvalidField),
)
async def list_code_files(
    *,
    who: Asker,
    opened: Opened,
    project: Project,
    cursor: Annotated[FilePath | None, Query(description="`next` of the page before.")] = None,
    limit: Annotated[int, Query(ge=1, le=1_000, description="Entries of a page, at most.")] = 500,
) -> CodeFilePage:
    """Your own files, each with the SHA-256 of its text, so that a client knows which have changed."""
    found, after = await opened.code.files(scope_of(who), project, after=cursor or "", limit=limit)
    return CodeFilePage(items=found, next=after)


@router.delete(
    "/{project}/code/files",
    summary="Delete files",
    response_description="Gone from the next answer on",
    responses=responses(*ASKING, *KEEPING, errors.InvalidField, errors.Rejected),
)
async def delete_code_files(
    who: Asker,
    opened: Opened,
    project: Project,
    path: Annotated[
        list[FilePath], Query(min_length=1, max_length=ENTRIES_MOST, description="One, or several.")
    ],
) -> FilesRemoved:
    """Those of the paths that are kept; unknown paths are no error."""
    return FilesRemoved(removed=await opened.code.remove_files(scope_of(who), project, path))


@router.delete(
    "/{project}/code",
    summary="Delete a project's code",
    status_code=204,
    response_class=Response,
    responses=responses(*ASKING, *KEEPING, errors.Missing, errors.InvalidField, errors.Rejected),
)
async def delete_code(who: Asker, opened: Opened, project: Project) -> None:
    """All your chunks and files; what another tool wrote stays, adopted or not."""
    if not await opened.code.clear(scope_of(who), project):
        raise errors.Missing("there is no code of yours in this project")


@router.get(
    "/{project}/code/{row_id}",
    summary="Get a chunk",
    response_description="The chunk",
    responses=responses(*ASKING, errors.Missing, errors.InvalidField),
)
async def get_code(who: Asker, opened: Opened, project: Project, row_id: RowId) -> CodeChunk:
    """One of yours, or one that the tenant shares."""
    return CodeChunk.model_validate(await opened.code.get(scope_of(who), project, row_id))


@router.delete(
    "/{project}/code/{row_id}",
    summary="Delete a chunk",
    status_code=204,
    response_class=Response,
    responses=responses(*ASKING, *KEEPING, *NOT_HERE, errors.Missing, errors.Rejected),
)
async def delete_code_chunk(who: Asker, opened: Opened, project: Project, row_id: RowId) -> None:
    """Gone from the next answer on. A chunk of a whole file comes back when the file is put with another
    text; one that another tool wrote is not removed here."""
    await opened.code.remove(scope_of(who), project, row_id)


Row = Annotated[TextId, Path(description="The row's session_id, or the id that its writer gave it.")]
REMOVING = responses(*ASKING, *KEEPING, *NOT_HERE, errors.Forbidden, errors.Missing)


def write_routes(kind: str) -> None:
    plural, one = kind.capitalize(), kind.removesuffix("s")
    path = f"/{{project}}/{kind}"

    @router.post(
        path,
        operation_id=f"keep{plural}",
        summary=f"Store {kind}",
        status_code=201,
        response_description="Searchable",
        responses={
            200: {
                "model": ConversationWritten | ConversationsWritten,
                "description": "Nothing of it was new",
            },
            **responses(*ASKING, *SENDING, *KEEPING, *NOT_HERE, errors.RemovedMeanwhile, errors.Rejected),
        },
    )
    async def keep(
        who: Asker, opened: Opened, project: Project, body: NewConversations, response: Response
    ) -> ConversationWritten | ConversationsWritten:
        """One row, or a list of up to 1,000 (the reply has `items`): all are kept, or none. What is missing
        is made from `turns` or `text`: by the chat model, or without one from their own sentences. Rows as
        replies show them, or as the table has them, are accepted. A project keeps conversations or dreams
        (DAAS)."""
        several = isinstance(body, list)
        bodies = body if isinstance(body, list) else [body]
        scope = scope_of(who, project=project)
        for at, each in enumerate(bodies):
            if field := each.misplaced(scope):
                raise errors.InvalidField(
                    f"{field} must be that of the path and the key, or left out",
                    field=f"body.{at}.{field}" if several else f"body.{field}",
                )
        outcomes = await opened.conversations.keep(scope, kind, [each.draft() for each in bodies])
        response.status_code = (
            201 if any(outcome is ConversationOutcome.CREATED for _, outcome in outcomes) else 200
        )
        items = [ConversationWritten(outcome=outcome, row=row) for row, outcome in outcomes]
        return ConversationsWritten(items=items) if several else items[0]

    @router.delete(
        f"{path}/{{id}}",
        operation_id=f"delete{plural.removesuffix('s')}",
        summary=f"Delete a {one}",
        status_code=204,
        response_class=Response,
        responses=REMOVING,
    )
    async def remove(who: Asker, opened: Opened, project: Project, id: Row) -> None:  # noqa: A002 - its name
        """Gone from the next answer on. What the tenant shares needs a tenant key; what another tool wrote is
        not removed here."""
        await opened.conversations.remove(scope_of(who, project=project), kind, id)

    @router.delete(
        path,
        operation_id=f"delete{plural}",
        summary=f"Delete all {kind}",
        status_code=204,
        response_class=Response,
        responses=REMOVING,
    )
    async def clear(who: Asker, opened: Opened, project: Project) -> None:
        """All of a user key's own in the project; with a tenant key all that the tenant shares there. What
        another tool wrote stays, adopted or not."""
        await opened.conversations.remove_all(scope_of(who, project=project), kind)


def read_routes(kind: str) -> None:
    plural, one = kind.capitalize(), kind.removesuffix("s")
    path = f"/{{project}}/{kind}"

    @router.get(
        path,
        operation_id=f"list{plural}",
        summary=f"List {kind}",
        response_description="A page, newest first",
        responses=responses(*ASKING, *NOT_HERE),
    )
    async def listed(
        *, who: Asker, opened: Opened, project: Project, cursor: Cursor = None, limit: Limit = 50
    ) -> ConversationPage:
        """Yours and those that the tenant shares, whoever wrote them; those without a time last. Texts are
        cut at 10,000 characters."""
        scope = scope_of(who, project=project)
        found, after = await opened.conversations.list(scope, kind, cursor=cursor, limit=limit)
        return ConversationPage(items=found, next=after)

    @router.get(
        f"{path}/{{id}}",
        operation_id=f"get{plural.removesuffix('s')}",
        summary=f"Get a {one}",
        response_description="The row",
        responses=responses(*ASKING, *NOT_HERE, errors.Missing, errors.Rejected),
    )
    async def row(who: Asker, opened: Opened, project: Project, id: Row) -> ConversationOut:  # noqa: A002 - its name
        """By its session_id, or the id that its writer gave it."""
        return ConversationOut.model_validate(
            await opened.conversations.get(scope_of(who, project=project), kind, id)
        )


for each in (CONVERSATIONS, DREAMS):
    write_routes(each)
    read_routes(each)
