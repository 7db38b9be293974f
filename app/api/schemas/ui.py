"""POST /api/chat/ui: what `useChat` of the AI SDK sends. Fields that are not known are ignored."""

from typing import Literal

from pydantic import ConfigDict, Field, model_validator

from app.api.schemas import Body, LongText, Name, Note, SessionId
from app.api.schemas.chat import HISTORY_MOST, NOTES_MOST, ChatRequest, SearchFilter, SourceName


class UiPart(Body):
    """A part of a message."""

    model_config = ConfigDict(extra="ignore")

    type: str = Field(description="`text`; other parts are ignored.")
    text: LongText = Field("", description="Of a `text`.")

    @model_validator(mode="before")
    @classmethod
    def without_others(cls, part: object) -> object:
        """Fields of other parts may have any shape."""
        if isinstance(part, dict) and part.get("type") != "text":
            return {"type": part.get("type")}
        return part


class UiMessage(Body):
    """A message of the chat."""

    model_config = ConfigDict(extra="ignore")

    role: Literal["system", "user", "assistant"] = Field(description="Who spoke.")
    parts: list[UiPart] = Field(description="What was said.")

    @property
    def text(self) -> str:
        return "".join(part.text for part in self.parts if part.type == "text")


class UiChatRequest(Body):
    """A chat as the AI SDK's `DefaultChatTransport` sends it; its option `body` sets further fields."""

    model_config = ConfigDict(extra="ignore")

    id: Name = Field(description="The chat's id; its turns are kept under it.")
    messages: list[UiMessage] = Field(
        min_length=1,
        description="The last message of the user is the question; those before it are the history, those of"
        " the system notes.",
    )
    session_id: SessionId = Field("default", description="As in /api/chat.")
    user_id: Name | None = Field(None, description="As in /api/chat.")
    project: Name | None = Field(None, description="As in /api/chat.")
    sources: list[SourceName] | None = Field(None, min_length=1, description="As in /api/chat.")
    filter: SearchFilter | None = Field(None, description="As in /api/chat.")
    notes: list[Note] = Field(default=[], max_length=NOTES_MOST, description="As in /api/chat.")
    top_k: int | None = Field(None, ge=1, description="As in /api/chat.")
    model: Name | None = Field(None, description="As in /api/chat.")
    remember: bool = Field(default=False, description="As in /api/chat.")
    on_disconnect: Literal["cancel", "continue"] = Field(
        "cancel", description="`continue`: a page that was reloaded can resume the stream."
    )

    def question(self) -> ChatRequest:
        """Raises pydantic's `ValidationError`, as for a body of /api/chat."""
        said = [message for message in self.messages if message.role != "system"]
        while said and said[-1].role != "user":
            said.pop()
        turns = [{"role": each.role, "content": each.text} for each in said[:-1] if each.text]
        notes = [each.text for each in self.messages if each.role == "system" and each.text]
        return ChatRequest.model_validate(
            {
                **self.model_dump(exclude={"id", "messages", "notes"}),
                "message": said[-1].text if said else "",
                "thread_id": self.id,
                "history": turns[-HISTORY_MOST:],
                "notes": [*notes, *self.notes],
            }
        )
