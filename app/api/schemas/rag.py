"""/rag: questions and answers from memory, and feedback on them."""

from typing import Annotated, Any, Literal, TypeAlias

from pydantic import Field

from app.api.schemas import (
    Body,
    Message,
    Name,
    Note,
    Out,
    absent,
    by_form,
    is_object,
)
from app.api.schemas.chat import (
    INCLUDE,
    REFERENCE_ID,
    AnswerEnd,
    AnswerHead,
    CitationMarks,
    DebugInfo,
    Include,
)
from app.api.schemas.memories import LastActivity


class OverlayOptions(Body):
    """How an answer should sound, part by part."""

    role: Note | None = Field(None, description="Who speaks.", examples=["a patient coach"])
    tone: Note | None = Field(None, description="The tone.", examples=["warm and plain"])
    format: Note | None = Field(None, description="The form.", examples=["a short list"])
    instructions: Note | None = Field(None, description="Anything else.", examples=["End with one question."])


Overlay: TypeAlias = Annotated[Note | OverlayOptions, by_form(is_object, OverlayOptions, Note)]


class RagRequest(Body):
    """A message to be answered from a person's memory."""

    user_id: Name | None = Field(
        None,
        description="Whose memories are searched. A tenant key must name one; a user key implies it.",
        examples=["ada"],
    )
    message: Message = Field(description="The message; not only white space.")
    thread_id: Name | None = Field(None, description="The conversation. Default: the user's default thread.")
    top_k: int = Field(8, ge=1, le=50, description="Reference texts, at most; of memories at most three.")
    overlay: Overlay | None = Field(None, description="How the answer should sound, for this message alone.")
    include: Include = Field(default=[], description=INCLUDE)
    remember: bool = Field(default=False, description="Keep the user's own words as a memory.")
    stream: bool = Field(default=False, description="True: events, as /api/chat sends them.")


class UsedMemory(Out):
    """A memory or a reference text that the model saw."""

    id: str = Field(description=REFERENCE_ID)
    source: Literal["memories", "corpus"] = Field(description="The source it was found in.")
    collection: str | None = Field(description="Its collection.")
    kind: str | None = Field(description="Its kind.")
    origin: str | None = Field(description="Who wrote it (the payload's `source`).")
    title: str = Field(description='Its title, "" if it has none; of a memory its day.')
    metadata: dict[str, Any] = Field(description="The reference text's metadata; `{}` for other sources.")
    text: str = Field(description="The text.")
    label: str = Field(description="What stands in brackets in the answer.")
    similarity: float | None = Field(description="Cosine in [-1, 1]; null: found by words alone.")
    relevance: float = Field(description="From words and similarity, in [0, 1].")
    score: float = Field(description="Relevance times all boosts.")
    boosts: dict[str, float] = Field(description="Factors by name, each in [0.9, 1.1].")


class VoteBalance(Out):
    """Votes on the memories used."""

    positive: int = Field(description="Votes up.")
    negative: int = Field(description="Votes down.")
    net: int = Field(description="Votes up minus votes down.")


class GravityFit(Out):
    """How far the message is from the user's usual subjects."""

    misalignment: float = Field(description="In [0, 1].")
    label: Literal["unknown", "aligned", "drifting", "misaligned"] = Field(description="In one word.")


class MemoryExplanation(Out):
    """Why the answer used these memories."""

    query_tags: list[str] = Field(description="Tags of the message.")
    feedback: VoteBalance = Field(description="Votes on the memories used.")
    format_consistency: float | None = Field(
        description="Share of the memories used that have the wanted form, or the usual one; null: no form."
    )
    gravity: GravityFit = Field(description="How the message fits the user's usual subjects.")
    temporal: LastActivity | None = Field(
        description="When the user last said something, before this message; null: not known."
    )


class RagMeta(AnswerHead):
    """Data of the event `meta` of /rag/query."""

    memory_used: list[UsedMemory] = Field(description="What the model saw, in that order.")
    meta_explanation: MemoryExplanation = Field(description="Why the answer used these memories.")
    bypass: Literal["greeting", "small_talk"] | None = Field(
        description="`greeting`, `small_talk`: nothing was looked up."
    )
    system_prompt: str | None = Field(None, exclude_if=absent, description="Only with RAG_DEBUG_MODE.")
    debug: DebugInfo | None = Field(None, exclude_if=absent, description="Only with RAG_DEBUG_MODE.")


class RagReply(AnswerEnd, CitationMarks, RagMeta):
    """An answer from memory as one object (`stream: false`)."""

    session_id: str | None = Field(None, exclude_if=absent, description="The session, if there is one.")
    answer: str = Field(description="The answer.")


class FeedbackRequest(Body):
    """What somebody said about an answer."""

    user_id: Name | None = Field(
        None,
        description="Who says it. A tenant key must name one; a user key implies it.",
        examples=["ada"],
    )
    message: Message = Field(
        description="What they said next. It is not kept: send it as their next question, if it is one."
    )
    thread_id: Name | None = Field(None, description="The conversation. Default: the user's default one.")
    answer_id: Name | None = Field(None, description="The answer. Default: the last of user and thread.")
    rating: Literal["up", "down", "none"] | None = Field(
        None,
        description="Decides, whatever the message says, and is kept with the answer. `none`: the answer's"
        " rating and its votes are taken back.",
    )


class FeedbackReply(Out):
    """What the feedback changed."""

    answer_id: str = Field(description="The answer it was about.")
    sentiment: Literal["positive", "negative", "neutral"] = Field(description="Neutral: no votes.")
    decided_by: Literal["rating", "marker", "model", "none"] = Field(
        description="`none`: no rating, no marker, and no model that decided."
    )
    tag: str | None = Field(description="What the message asks for, as a query tag or as its own #tag.")
    memory_ids: list[str] = Field(description="The person's memories that the answer used.")
    applied: int = Field(
        description="Votes that changed. One per memory and answer: a repeat changes none, a change of mind"
        " replaces them."
    )
    persona_refreshed: bool = Field(description="Whether the style card was computed again.")
