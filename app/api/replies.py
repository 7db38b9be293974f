"""What clients get, as OpenAPI shows it. Schemas only: the routes send plain objects of these shapes, so that
no reply is validated on its way out. Tests hold the two together.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Literal

from pydantic import BaseModel, Field

from app.api.traced import RecipeReply


def shown(model: type[BaseModel], said: str, example: Mapping[str, Any]) -> dict[str, Any]:
    """A status of OpenAPI's `responses=` with its schema and an example."""
    content = {"application/json": {"example": dict(example)}}
    return {"model": model, "description": said, "content": content}


class PendingReply(BaseModel):
    """A document in reach that is still being read."""

    id: str
    filename: str


class KeptRag(BaseModel):
    """How retrieval went, as it is kept."""

    used: bool = Field(description="Whether the model saw passages.")
    reason: Literal[
        "small_talk",
        "empty",
        "processing",
        "timeout",
        "unavailable",
        "skipped_short_query",
        "no_match",
        "ok",
        "greeting",
        "not_asked",
        "cancelled",
    ] = Field(
        description="`not_asked`: the class or the mix wants nothing looked up. `cancelled`: the asker left"
        " before the sources had answered."
    )
    cached: bool
    passages: int = Field(description="Passages the model saw.")
    tokens: int = Field(description="Tokens of the context block.")
    budget: int = Field(description="Tokens it might have had.")
    took_ms: int
    pending: list[PendingReply] | None = Field(
        None, description="With `processing` alone: what is still being read, newest first, at most ten."
    )


class Rag(KeptRag):
    """How retrieval went."""

    reason: Literal[
        "small_talk",
        "empty",
        "processing",
        "timeout",
        "unavailable",
        "skipped_short_query",
        "no_match",
        "ok",
    ] = Field(description="`processing`: nothing matched, and a document in reach is still being read.")


class CitationReply(BaseModel):
    """A passage the model saw, in prompt order."""

    label: str = Field(description="What stands in brackets in the answer.")
    source: str
    id: str = Field(
        description="For a reference text, the id its writer gave it or one made from its words, unique"
        " within the collection."
    )
    title: str
    page: int | None = Field(description="Physical, from 1.")
    page_end: int | None
    url: str | None
    metadata: dict[str, Any] = Field(description="The reference text's metadata; `{}` for other sources.")


class DegradedReply(BaseModel):
    """Something that did not do its part."""

    source: str
    reason: str


class UsageReply(BaseModel):
    """Tokens."""

    prompt_tokens: int
    completion_tokens: int


class WholeReply(BaseModel):
    """What every answer tells that comes whole (`stream: false`)."""

    answer_id: str
    answer: str
    model: str
    finish_reason: Literal["stop", "length", "cancelled"]
    citations: list[CitationReply]
    cited: list[str]
    unknown: list[str] = Field(description="Labels the model made up; they were taken out of the text.")
    appended: bool = Field(
        description="The model cited nothing, so the nearest passages were named at the end."
    )
    notes: list[str]
    degraded: list[DegradedReply]
    usage: UsageReply
    took_ms: int
    remembered: Literal["created", "repeated", "echo", "skipped", "failed"] | None = Field(
        description="What became of the message as a memory; null: `remember` was not asked for."
    )
    debug: dict[str, Any] | None = Field(None, description="Only with RAG_DEBUG_MODE.")


class ChatReply(WholeReply):
    """An answer, whole (`stream: false`)."""

    session_id: str
    rag: Rag


class DocumentReply(BaseModel):
    """A document."""

    id: str
    label: str = Field(description="Its name in citations, before the `#`.")
    filename: str
    scope: Literal["session", "global"]
    session_id: str | None
    user_id: str | None = Field(
        description="The calling user if it was uploaded for them. Otherwise the first user it was uploaded"
        " for; a user key gets null instead."
    )
    state: Literal["processing", "ready", "failed"]
    pages: int
    chunks: int
    tokens: int
    sha256: str
    created_at: datetime
    problem: dict[str, Any] | None = Field(None, description="Why it failed.")


class DocumentList(BaseModel):
    """A page of documents, newest first."""

    items: list[DocumentReply]
    next: str | None = Field(description="The `cursor` of the next page.")


class ChunkReply(BaseModel):
    """A passage of a document."""

    label: str
    text: str
    page: int
    page_end: int
    heading: str
    tokens: int


class CandidateReply(BaseModel):
    """A passage that the search saw."""

    source: str
    id: str
    label: str
    similarity: float | None = Field(description="Cosine in [-1, 1]; null when it was not found by meaning.")
    score: float = Field(description="What the order is made of.")
    relevance: float | None = Field(
        description="Before boosts: times all of them it is the score. Null where nothing boosts."
    )
    boosts: dict[str, float]
    verdict: Literal["packed", "below_threshold", "duplicate", "over_limit", "over_budget", "skipped"] = (
        Field(
            description="`packed`: the model saw it; else why not. `over_limit`: beyond top_k, or the three"
            " memories. `over_budget`: no tokens were left for it."
        )
    )
    sha256: str = Field(description="Of its text then.")
    created_at: datetime | None = Field(description="Of the passage.")
    vouched: bool = Field(description="Words vouched for it: no threshold could keep it out.")


class AnswerReply(BaseModel):
    """An answer with its trace."""

    answer_id: str
    endpoint: str
    question: str
    answer: str
    model: str
    created_at: datetime
    finish_reason: Literal["stop", "length", "cancelled"] | None = Field(
        description="Null: it ended in an error."
    )
    citations: list[CitationReply]
    cited: list[str]
    unknown: list[str]
    appended: bool = Field(description="The model cited nothing: `cited` are the nearest passages.")
    usage: UsageReply
    timings: dict[str, int] = Field(description="Milliseconds by stage.")
    prompt_sha256: str = Field(description='"" where the model was not asked.')
    rag: KeptRag
    notes: list[str]
    degraded: list[DegradedReply]
    searched: str = Field(description="What was searched: the question, after what a follow-up refers to.")
    sources: dict[str, Literal["exact", "engine"]] = Field(
        description="How the nearest of each source were found: every passage compared, or by its engine."
    )
    candidates: list[CandidateReply] = Field(description="Every passage seen, best first.")
    recipe: RecipeReply | None = Field(description="Null: the model was not asked, or long ago.")
    ruling: dict[str, Any] | None = Field(description="Of /vantage alone: what was decided, and by what.")


class SessionReply(BaseModel):
    """A session in figures."""

    session_id: str
    documents: int = Field(description="Its own; global ones are in every session.")
    turns: int
    created_at: datetime
    last_active_at: datetime


class SessionList(BaseModel):
    """A page of sessions, the most recently active first."""

    items: list[SessionReply]
    next: str | None = Field(description="The `cursor` of the next page.")


class TurnReply(BaseModel):
    """What was said."""

    thread_id: str
    role: Literal["user", "assistant"]
    content: str
    at: datetime
    answer_id: str | None = Field(description="The answer this turn belongs to.")


class TurnList(BaseModel):
    """A page of turns, oldest first."""

    items: list[TurnReply]
    next: str | None = Field(description="The `cursor` of the next page.")


class Check(BaseModel):
    """A dependency."""

    name: str
    ok: bool
    needed: bool = Field(description="Whether answers need it; the service is not ready while it is down.")
    ms: int = Field(description="How long it took to answer. Models are asked at most every 5 seconds.")
    facts: dict[str, Any] = {}
    reason: str | None = None


class Readiness(BaseModel):
    """Whether answers can be given."""

    ready: bool
    checks: list[Check]


class Alive(BaseModel):
    """The process runs."""

    status: Literal["alive"]
    version: str
