"""POST /projects/{project}/context: what a project shows for a message, alone.

A blank message, none, and any top_k are taken; faults of stores are no status.
"""

from collections.abc import Mapping
from typing import Annotated, Any

from fastapi import APIRouter, Path
from fastapi import Body as Sent
from pydantic import BaseModel, Field, StringConstraints
from starlette.responses import Response

from app.api.bodies import NO_NUL, Body, Name
from app.api.deps import Asker, Opened, scope_of
from app.api.refusals import ASKING, SENDING
from app.api.replies import shown
from app.api.wire import Json, JsonRoute
from app.problems import responses

router = APIRouter(prefix="/projects", tags=["projects"], route_class=JsonRoute)

Project = Annotated[Name, Path(description="A project's name; upper and lower case differ.")]
ASKED: Mapping[str, Any] = {
    "dreams": {"summary": "Dreams like one", "value": {"message": "I was flying over water.", "top_k": 3}},
    "code": {"summary": "With the code it is about", "value": {"message": "How is the context built?"}},
}
CONTEXT: Mapping[str, Any] = {
    "context": "### Related Dreams for Analysis\n\n**Dream: Flying Over Ocean**\n"
    "- **Summary**: Dreamed of flying over a vast ocean, feeling free and unburdened.\n"
    "- **Key Details**: Ocean represented emotional depth, flying symbolized liberation.",
    "notes": ["Retrieved 1 dreams via vector similarity search"],
}


class ContextBody(Body):
    """A message to a project."""

    message: Annotated[str, StringConstraints(max_length=32_000, pattern=NO_NUL)] | None = Field(
        None,
        description="What the context is for. A blank one, or none, is answered without what would be"
        " searched for.",
    )
    top_k: int | None = Field(
        None,
        description="Most entries, where the project lets it: DAAS 1 to 5 (more is 5, less than 1 is 3);"
        " THN always five of each. Never refused.",
    )


class ContextReply(BaseModel):
    """What the project shows."""

    context: str = Field(description="Markdown, without any words around it; empty where nothing was found.")
    notes: list[str] = Field(description="How it came to be.")


@router.post(
    "/{project}/context",
    operation_id="projectContext",
    summary="Get a project's context",
    response_class=Json,
    responses={
        200: shown(ContextReply, "The context, empty where nothing was found or asked", CONTEXT),
        **responses(*ASKING, *SENDING),
    },
)
async def context(
    who: Asker,
    opened: Opened,
    project: Project,
    body: Annotated[ContextBody, Sent(openapi_examples=dict(ASKED))],
) -> Response:
    """What stands in a chat of that project as its second message, without labels; no model is asked. A
    project that nobody defined shows its conversations and its code by words and meaning."""
    scope = scope_of(who, project=project)
    return Json(await opened.projects.build_project_context(project, body.message, scope, body.top_k))
