"""What clients send: pydantic at the edge, strict ("5" is not 5), unknown fields refused.

Limits are in docs/contract.md; lengths are characters. NUL is refused everywhere (Postgres cannot keep it)
and so are lone surrogates (pydantic does). `top_k`'s upper bound is a setting: the route checks it.
"""

from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, model_validator

NO_NUL = r"^[^\x00]*$"
SAYS = r"^[\s\x1c-\x1f]*[^\x00\s\x1c-\x1f][^\x00]*$"
"""Not blank, no NUL. Pydantic's engine is Rust's: its white space lacks 1C-1F, which str.strip() takes."""
HISTORY_MOST, NOTES_MOST = 1_000, 50
Note = Annotated[str, StringConstraints(max_length=8_000, pattern=NO_NUL)]
Said = Annotated[str, StringConstraints(max_length=100_000, pattern=NO_NUL)]
Message = Annotated[str, StringConstraints(min_length=1, max_length=32_000, pattern=SAYS)]
SessionId = Annotated[str, StringConstraints(min_length=1, max_length=200, pattern=r"^[A-Za-z0-9._:\-]+$")]
Name = Annotated[str, StringConstraints(min_length=1, max_length=200, pattern=r"^[^\x00-\x1f\x7f]+$")]
"""A user, a thread, a project, a model: anything that stands on one line."""
SourceName = Literal["documents", "memories", "corpus", "conversations", "code", "dreams"]


class Body(BaseModel):
    """A request body."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class TurnBody(Body):
    """An earlier turn."""

    role: Literal["user", "assistant"]
    content: Said


class ChatBody(Body):
    """A question."""

    message: Message = Field(
        description="The question; not white space alone.", examples=["What was revenue in 2023?"]
    )
    session_id: SessionId = Field(
        "default", description="Whose documents are searched, beside the global ones.", examples=["thesis"]
    )
    user_id: Name | None = Field(None, description="Who asks. A user key: that user, or left out.")
    thread_id: Name | None = Field(None, description="Which conversation this is. Default: the session.")
    project: Name | None = Field(
        None,
        description="A project the question is about: its overview, rules and notes are put before the model,"
        " and its own context where no `sources` are named; else they are searched in its reach.",
    )
    sources: list[SourceName] | None = Field(
        None,
        min_length=1,
        description="Where to search, as one: one relevance, one budget, one kind of citation. memories needs"
        " a user_id. Default: what the project shows; without a project documents.",
    )
    history: list[TurnBody] | None = Field(
        None,
        max_length=HISTORY_MOST,
        description="The turns before this one. Default: those stored under the thread.",
    )
    notes: list[Note] = Field(default=[], max_length=NOTES_MOST, description="Texts to put before the model.")
    top_k: int | None = Field(
        None, ge=1, description="Most passages the model is given: up to RAG_TOP_K_MAX, its default."
    )
    model: Name | None = Field(None, description="A chat model other than the configured one.")
    remember: bool = Field(
        default=False,
        description="Keep the user's own words as a memory, once the answer has ended (`remembered` tells);"
        " needs a user_id.",
    )
    on_disconnect: Literal["cancel", "continue"] = Field(
        "cancel", description="What becomes of the answer when the client leaves."
    )
    stream: bool = Field(default=True, description="False: one JSON object instead of events.")


class OverlayBody(Body):
    """How an answer is to sound, part by part."""

    role: Note | None = Field(None, description="Who speaks.", examples=["a patient coach"])
    tone: Note | None = Field(None, examples=["warm and plain"])
    format: Note | None = Field(None, examples=["a short list"])
    instructions: Note | None = Field(None, examples=["End with one question."])


class RagBody(Body):
    """A message to somebody who remembers."""

    user_id: Name | None = Field(
        None,
        description="Whose memories are searched. A tenant key must name one; a user key implies it.",
        examples=["ada"],
    )
    message: Message = Field(
        description="The message; not white space alone.", examples=["What helped me sleep last winter?"]
    )
    thread_id: Name | None = Field(
        None, description="Which conversation this is. Default: the user's default thread."
    )
    top_k: int = Field(8, ge=1, le=50, description="Most reference texts; of memories at most three.")
    overlay: Note | OverlayBody | None = Field(
        None, description="How the answer is to sound, for this message alone."
    )
    remember: bool = Field(
        default=False, description="Keep what was said as a memory: the user's words alone."
    )
    stream: bool = Field(default=False, description="True: events, as /api/chat sends them.")


class UploadBody(BaseModel):
    """The fields beside an uploaded file; all of them text on the wire."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    session_id: SessionId | None = None
    scope: Literal["global"] | None = None
    user_id: Name | None = None
    replace: Literal["true", "false"] = "false"
    wait: float = Field(30, ge=0, le=300, allow_inf_nan=False)

    @model_validator(mode="after")
    def one_place(self) -> Self:
        """A document lives in one session or in all of them."""
        if (self.session_id is None) == (self.scope is None):
            raise ValueError("send either session_id or scope=global")
        return self
