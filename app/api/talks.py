"""Conversations and dreams on the wire: what clients send to be kept, what they get, examples.

Fields are named as the columns of conversation_index. Lengths are characters. Nothing here raises but what
pydantic tells as a 422.
"""

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Annotated, Any, Literal, Self, TypeAlias

from pydantic import BaseModel, Field, StringConstraints, TypeAdapter, WrapValidator, model_validator

from app.api.bodies import NO_NUL, Body, Name, Said
from app.api.drafts import Moment, TextId, read
from app.db import conversations
from app.db.conversations import Conversation, Draft, Written
from app.types import Scope, moment

MOST, WORDS = 1_000, 100
"""Rows of one request, in a body of 2 MiB; tags, or entities, of one row."""
SPEAKERS = ("user", "assistant")

Summary: TypeAlias = Annotated[str, StringConstraints(max_length=100_000, pattern=NO_NUL)]
Words: TypeAlias = Annotated[list[Name], Field(max_length=WORDS)]
ID = "0c9d1a52-3e5f-4d0f-9a53-5d0e8a432c0f"
ROW: Mapping[str, Any] = {
    "session_id": ID,
    "project": "THN",
    "title": "THN Network Setup",
    "tags": ["networking", "vlan", "firewall"],
    "key_entities": ["Firewalla", "Mac Mini"],
    "summary_short": "VLANs on the Firewalla: IoT devices apart from the Mac Mini.",
    "summary_detailed": "IoT devices are on VLAN 20, the Mac Mini is on VLAN 10; neither sees the other.",
    "memory_snippet": "The Mac Mini has a reserved address on VLAN 10.",
    "indexed_at": "2026-11-21T21:30:00Z",
}
KEPT: Mapping[str, Any] = {"outcome": "created", "row": ROW}
AGAIN: Mapping[str, Any] = {"outcome": "unchanged", "row": ROW}
ROWS: Mapping[str, Any] = {"items": [ROW], "next": "MTc5MDAwMDAwMDAwMDAwMHwwYzlkMWE1Mg"}
POSTED: Mapping[str, Any] = {
    "row": {"summary": "A row", "value": {name: ROW[name] for name in ROW if name != "project"}},
    "turns": {
        "summary": "Several, one of them as it was said: what is missing is made of it",
        "value": [
            {
                "session_id": "chat-17",
                "turns": [
                    {"role": "user", "content": "Which VLAN is the Mac Mini on?"},
                    {"role": "assistant", "content": "VLAN 10, with a reserved address."},
                ],
            },
            {"title": "mDNS", "summary_short": "The reflector is on, so AirPlay works across VLANs."},
        ],
    },
}
DREAMT: Mapping[str, Any] = {
    "text": {
        "summary": "As it was written down: what is missing is made of it",
        "value": {
            "title": "Flying Over Ocean",
            "tags": ["flying", "water"],
            "text": "I was flying over a vast ocean, and felt free. Then the sky turned green, and I woke.",
        },
    }
}


class SaidBody(Body):
    """A turn. Of roles other than user and assistant nothing is taken."""

    role: Literal["user", "assistant", "system", "tool"]
    content: Said


class RowBody(Body):
    """A conversation, or a dream."""

    session_id: TextId | None = Field(
        None, description="Again replaces. Default: made of what is sent. A UUID may stay as it is."
    )
    title: Annotated[str, StringConstraints(max_length=500, pattern=NO_NUL)] | None = None
    tags: Words | None = None
    key_entities: Words | None = None
    summary_short: Summary | None = None
    summary_detailed: Summary | None = None
    memory_snippet: Summary | None = None
    indexed_at: Moment | None = Field(None, description="Default: when it is written.")
    turns: list[SaidBody] = Field(
        default=[], max_length=1_000, description="What was said. Raw material for what is missing: not kept."
    )
    text: Annotated[str, StringConstraints(max_length=1_000_000, pattern=NO_NUL)] = Field(
        "", description="The same, of what has no turns: a dream as it was written down."
    )
    project: str | None = Field(None, description="The path's, as rows are read.")
    tenant: str | None = Field(None, description="The key's, as the table has it.")
    owner: str | None = Field(None, description="The key's user; empty for what the tenant shares.")
    embedding: Any = Field(None, description="Passed over, as are the three below: they are made here.")
    embedding_ibid: Any = None
    space: Any = None
    sha256: Any = None

    @model_validator(mode="after")
    def says(self) -> Self:
        """A row of nothing can never be found."""
        own = (self.title, self.summary_short, self.summary_detailed, self.memory_snippet, self.text)
        said = [turn.content for turn in self.turns if turn.role in SPEAKERS]
        if not any(text and text.strip() for text in (*own, *said)):
            raise ValueError("send a title, a summary, a memory_snippet, turns or a text")
        return self

    def astray(self, scope: Scope) -> str | None:
        """The first field that says another place than the scope's."""
        told = {"project": scope.project, "tenant": scope.tenant, "owner": scope.owner}
        return next((name for name, here in told.items() if getattr(self, name) not in {None, here}), None)

    def draft(self) -> Draft:
        """As the service takes it."""
        named = ("title", "summary_short", "summary_detailed", "memory_snippet", "text")
        return Draft(
            id=self.session_id,
            tags=None if self.tags is None else tuple(self.tags),
            key_entities=None if self.key_entities is None else tuple(self.key_entities),
            indexed_at=read(self.indexed_at) if self.indexed_at else None,
            said=tuple(conversations.Said(turn.role, turn.content) for turn in self.turns),
            **{name: getattr(self, name) for name in named},
        )


Several: TypeAlias = Annotated[list[RowBody], Field(min_length=1, max_length=MOST)]
ONE, SEVERAL = TypeAdapter(RowBody), TypeAdapter(Several)


def either(value: object, _: Callable[[Any], Any]) -> RowBody | list[RowBody]:
    """One or several: the faults of the form that was sent, and not of the other too."""
    return SEVERAL.validate_python(value) if isinstance(value, list) else ONE.validate_python(value)


Rows: TypeAlias = Annotated[RowBody | Several, WrapValidator(either)]


class RowReply(BaseModel):
    """A row. Of one that another tool wrote, anything may be missing."""

    session_id: str = Field(description="The row's id: a UUID where Ibid wrote it.")
    project: str
    title: str | None
    tags: list[str]
    key_entities: list[str]
    summary_short: str | None
    summary_detailed: str | None
    memory_snippet: str | None
    indexed_at: datetime | None


class KeptReply(BaseModel):
    """What became of one."""

    outcome: Literal["created", "replaced", "unchanged"] = Field(
        description="`unchanged`: it was sent just so before, and nothing was done."
    )
    row: RowReply = Field(description="As it is kept, with what was made.")


class SeveralReply(BaseModel):
    """What became of each, in order."""

    items: list[KeptReply]


class RowList(BaseModel):
    """A page, newest first."""

    items: list[RowReply]
    next: str | None = Field(description="The `cursor` of the next page.")


def row(kept: Conversation) -> dict[str, Any]:
    """A row as JSON."""
    told = {name: getattr(kept, name) for name in RowReply.model_fields if name != "session_id"}
    lists = {"tags": list(kept.tags), "key_entities": list(kept.key_entities)}
    return {"session_id": kept.id, **told, **lists, "indexed_at": kept.indexed_at and moment(kept.indexed_at)}


def written(each: Written) -> dict[str, Any]:
    """An outcome as JSON."""
    kept, outcome = each
    return {"outcome": str(outcome), "row": row(kept)}
