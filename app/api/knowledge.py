"""/projects/{project}/knowledge: what the model is told of a project whatever is asked.

In the very next prompt. Read with any key of the tenant, written with a tenant key. Lengths are characters.
Raises what the service raises.
"""

from collections.abc import Mapping
from typing import Annotated, Any, TypeAlias

from fastapi import APIRouter
from fastapi import Body as Sent
from pydantic import AfterValidator, BaseModel, Field, StringConstraints
from starlette.responses import Response

from app import errors
from app.api.bodies import NO_NUL, SAYS, Body, Name
from app.api.context import Project
from app.api.deps import Asker, Opened, scope_of
from app.api.refusals import ASKING, KEEPING, SENDING
from app.api.replies import shown
from app.api.wire import Json, JsonRoute
from app.db.projects import MOST_NOTES, Knowledge, KnowledgeChange, KnowledgeNote
from app.problems import responses

router = APIRouter(prefix="/projects", tags=["projects"], route_class=JsonRoute)

Told = Annotated[str, StringConstraints(max_length=32_000, pattern=NO_NUL)]
KNOWN: Mapping[str, Any] = {
    "overview": "THN is a home network: a Firewalla, three switches, a Mac Mini as its server.",
    "rules": "Name devices as the overview does. Never propose to open a port to the internet.",
    "notes": [{"title": "Addresses", "text": "VLAN 10 is 10.0.10.0/24, VLAN 20 (IoT) 10.0.20.0/24."}],
}
WHOLE: Mapping[str, Any] = {"whole": {"summary": "All of it", "value": KNOWN}}
PARTS: Mapping[str, Any] = {
    "note": {
        "summary": "One note more, or another text for the one of this title",
        "value": {"notes": [{"title": "mDNS", "text": "The Firewalla reflects it between VLANs."}]},
    },
    "overview": {"summary": "Another overview, no rules", "value": {"overview": "A lab.", "rules": ""}},
}


class NoteBody(Body):
    """A note."""

    title: Name
    text: Annotated[str, StringConstraints(max_length=8_000, pattern=SAYS)]


def distinct(notes: list[NoteBody]) -> list[NoteBody]:
    """A title names one note."""
    if len({note.title for note in notes}) < len(notes):
        raise ValueError("two notes have one title")
    return notes


Notes: TypeAlias = Annotated[list[NoteBody], Field(max_length=MOST_NOTES), AfterValidator(distinct)]


class WholeBody(Body):
    """All of it; what is left out is empty."""

    overview: Told = ""
    rules: Told = ""
    notes: Notes = Field(default=[])


class PartsBody(Body):
    """Parts of it; what is left out stays."""

    overview: Told | None = None
    rules: Told | None = None
    notes: Notes = Field([], description="Each takes the place of the one of its title, else it is added.")


class NoteReply(BaseModel):
    """A note."""

    title: str
    text: str


class KnowledgeReply(BaseModel):
    """What is told of a project."""

    overview: str
    rules: str
    notes: list[NoteReply]


WRITES: dict[str, Any] = {
    "response_class": Json,
    "responses": {
        200: shown(KnowledgeReply, "As it is now", KNOWN),
        **responses(*ASKING, *SENDING, *KEEPING, errors.Forbidden, errors.TooMany),
    },
}


@router.put(
    "/{project}/knowledge", operation_id="putKnowledge", summary="Replace a project's knowledge", **WRITES
)
async def put(
    who: Asker,
    opened: Opened,
    project: Project,
    body: Annotated[WholeBody, Sent(openapi_examples=dict(WHOLE))],
) -> Response:
    """All of it: what is left out is empty from the next prompt on."""
    told = Knowledge(body.overview, body.rules, given(body.notes))
    return Json(known(await opened.knowledge.put(scope_of(who, project=project), told)))


@router.post(
    "/{project}/knowledge", operation_id="addKnowledge", summary="Add to a project's knowledge", **WRITES
)
async def add(
    who: Asker,
    opened: Opened,
    project: Project,
    body: Annotated[PartsBody, Sent(openapi_examples=dict(PARTS))],
) -> Response:
    """What is sent replaces what was there, note by note; the rest stays. A project has 50 notes at most."""
    change = KnowledgeChange(body.overview, body.rules, given(body.notes))
    return Json(known(await opened.knowledge.merge(scope_of(who, project=project), change)))


@router.get(
    "/{project}/knowledge",
    operation_id="getKnowledge",
    summary="Get a project's knowledge",
    response_class=Json,
    responses={
        200: shown(KnowledgeReply, "What is told of it", KNOWN),
        **responses(*ASKING, errors.Missing, errors.InvalidField),
    },
)
async def get(who: Asker, opened: Opened, project: Project) -> Response:
    """As the tenant wrote it."""
    return Json(known(await opened.knowledge.get(scope_of(who, project=project))))


@router.delete(
    "/{project}/knowledge",
    operation_id="deleteKnowledge",
    summary="Remove a project's knowledge",
    status_code=204,
    responses={**responses(*ASKING, *KEEPING, errors.Forbidden, errors.Missing, errors.InvalidField)},
)
async def remove(who: Asker, opened: Opened, project: Project) -> Response:
    """Gone from the next prompt on."""
    await opened.knowledge.remove(scope_of(who, project=project))
    return Response(status_code=204)


def given(notes: list[NoteBody]) -> tuple[KnowledgeNote, ...]:
    """As the service takes them."""
    return tuple(KnowledgeNote(note.title, note.text) for note in notes)


def known(told: Knowledge) -> dict[str, Any]:
    """It as JSON."""
    notes = [{"title": note.title, "text": note.text} for note in told.notes]
    return {"overview": told.overview, "rules": told.rules, "notes": notes}
