"""/memories, /memory_feedback, /temporal and /profiles."""

from typing import Annotated, Literal, Self, TypeAlias

from pydantic import AfterValidator, BeforeValidator, Field, RootModel, model_validator

from app.api.schemas import (
    ENTRIES_MOST,
    Body,
    CountedPage,
    Gone,
    Message,
    Name,
    Out,
    PastTime,
    Time,
    Word,
    by_form,
    is_list,
    read,
)
from app.db.memories import DESIRE, EXCLUDED_ORIGINS, GRAVITY, NOTE, Draft
from app.services.memories import MemoryChange

IDS_MOST = 200
"""Ids of one request for votes."""
USER = "Whose. A tenant key must name a user; a user key implies it."


def _writable_origin(origin: str) -> str:
    if origin in EXCLUDED_ORIGINS:
        raise ValueError("must not be one of the service's own, for what the assistant or a daemon writes")
    return origin


def _writable_kind(kind: str) -> str:
    if kind in {GRAVITY, DESIRE}:
        raise ValueError("must not be one that the service computes (`ibid profiles`)")
    return kind


class NewMemory(Body):
    """Something that a person said and wants kept."""

    user_id: Name | None = Field(None, description="Whose it is. A user key: that user, or left out.")
    text: Message = Field(description="The words.", examples=["I sleep badly when I read late."])
    kind: Annotated[Word, AfterValidator(_writable_kind)] = Field(
        NOTE,
        description="The model sees persona, style and preference before every answer; others are searched.",
    )
    tags: list[Name] = Field(default=[], max_length=50, description="Tags to rank it by.")
    origin: Annotated[Word, AfterValidator(_writable_origin)] = Field("api", description="Who wrote it down.")
    vantage_id: Name | None = Field(None, description="A namespace; null: it belongs to all of them.")
    thread_id: Name | None = Field(None, description="The conversation it was said in.")
    created_at: PastTime | None = Field(None, description="When it was said (RFC 3339). Default: now.")

    def draft(self) -> Draft:
        return Draft(
            text=self.text,
            kind=self.kind,
            tags=tuple(self.tags),
            origin=self.origin,
            vantage_id=self.vantage_id,
            thread_id=self.thread_id,
            created_at=read(self.created_at) if self.created_at else None,
        )


class MemoryUpdate(Body):
    """Changes of a memory; fields that are left out stay."""

    text: Message | None = Field(None, description="Other words.", examples=["I sleep well when I read."])
    kind: Annotated[Word, AfterValidator(_writable_kind)] | None = Field(None, description="Another kind.")
    tags: Annotated[list[Name], Field(max_length=50)] | None = Field(None, description="Other tags.")

    @model_validator(mode="after")
    def _something(self) -> Self:
        if self.text is None and self.kind is None and self.tags is None:
            raise ValueError("must have text, kind or tags")
        return self

    def change(self) -> MemoryChange:
        return MemoryChange(self.text, self.kind, None if self.tags is None else tuple(self.tags))


_Several: TypeAlias = Annotated[list[NewMemory], Field(min_length=1, max_length=ENTRIES_MOST)]
NewMemories: TypeAlias = Annotated[NewMemory | _Several, by_form(is_list, _Several, NewMemory)]


class MemoryOut(Out):
    """A memory as it is kept."""

    id: str = Field(description="The memory's id.")
    user_id: str = Field(description="Whose it is.")
    text: str = Field(description="The words.")
    kind: str = Field(description="note, persona, style, preference, …")
    tags: list[str] = Field(description="Its tags.")
    origin: str = Field(description="Who wrote it down.")
    vantage_id: str | None = Field(description="Its namespace; null: all of them.")
    thread_id: str | None = Field(description="The conversation it was said in; null: not known.")
    tokens: int = Field(description="Its tokens.")
    created_at: Time = Field(description="When it was said.")


class MemoryWritten(Out):
    """What became of a memory."""

    outcome: Literal["created", "repeated", "echo"] = Field(
        description="`repeated`: the user has one of the same words already. `echo`: it only repeats what was"
        " recalled, or said by the assistant, in that conversation; it is not kept."
    )
    memory: MemoryOut | None = Field(description="The memory; of a partial echo, the new sentences alone.")


class MemoriesWritten(Out):
    """What became of each memory, in order."""

    items: list[MemoryWritten] = Field(description="One entry for each memory.")


class MemoryPage(CountedPage[MemoryOut]):
    """A page of memories, newest first."""

    gone: Gone = None


def _whole(value: object) -> object:
    """`true` and 1.0 equal 1 in Python, but are no votes."""
    if type(value) is not int:
        raise ValueError("must be 1, -1 or 0")
    return value


class VoteRequest(Body):
    """A vote on a memory."""

    user_id: Name | None = Field(
        None,
        description="Whose vote, on a memory of theirs. A tenant key must name one; a user key implies it.",
    )
    memory_id: Name = Field(description="The memory.")
    signal: Annotated[Literal[1, -1, 0], BeforeValidator(_whole)] = Field(
        description="Up, down, or 0 to withdraw the vote."
    )
    answer_id: Name | None = Field(
        None,
        description="The answer it is about: a user has one vote per answer and memory, and a later one"
        " replaces it. Without it a user has one vote per memory and UTC day; `signal: 0` then deletes the"
        " votes of all days.",
    )


class VoteReply(Out):
    """What became of a vote."""

    memory_id: str = Field(description="The memory.")
    signal: Literal[1, -1, 0] = Field(description="The vote.")
    applied: bool = Field(description="False if the stored vote was already the same.")


class VoteCount(Out):
    """The votes on a memory."""

    positive: int = Field(description="Votes up.")
    negative: int = Field(description="Votes down.")


class VoteCounts(RootModel[dict[str, VoteCount]]):
    """Votes by memory, for each that was asked for."""


class LastActivity(Out):
    """When the user last said something."""

    bucket: Literal["new", "minutes", "hours", "days", "weeks", "months"] = Field(
        description="Less than an hour, 24 hours, 7 days, 31 days ago; longer; `new`: never."
    )
    last_message_at: Time | None = Field(description="When; null: never.")
    seconds_since: float | None = Field(description="Seconds since then; null: never.")


class ProfilesRequest(Body):
    """Whose profile cards to compute."""

    user_id: Name | None = Field(None, description="This user alone. Left out: all, page by page.")
    cursor: Name | None = Field(None, description="`next` of the page before.")
    tenant: Name | None = Field(
        None, description="Another tenant than the key's: for commands of the service's own machine alone."
    )


class UserProfiled(Out):
    """What was computed for one user."""

    user_id: str = Field(description="The user.")
    messages: int = Field(
        description="Messages of the user that were read. 0: no cards; earlier ones were removed."
    )
    kinds: list[str] = Field(description="Kinds of the cards that were written.")


class ProfilesReply(Out):
    """A page of users whose cards were computed."""

    items: list[UserProfiled] = Field(description="The users of this page.")
    next: str | None = Field(description="The `cursor` of the next page; null: this is the last one.")
    users: int = Field(description="Number of users on all pages.")
