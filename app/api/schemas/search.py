"""POST /v1/search: what is looked for, and the passages found."""

from pydantic import Field

from app.api.schemas import Body, Message, Name, Out, SessionId, absent
from app.api.schemas.chat import (
    CitationOut,
    DegradedSource,
    Include,
    PendingDocumentOut,
    Reason,
    SearchFilter,
    SourceName,
)


class SearchRequest(Body):
    """What is looked for."""

    query: Message = Field(description="A question or words; not only white space.")
    sources: list[SourceName] | None = Field(
        None,
        min_length=1,
        description="Where to search. Default: everything in reach: documents and reference texts, `memories`"
        " with a user, the sources of the project with one; with document_ids or collections, only theirs.",
    )
    session_id: SessionId | None = Field(
        None, description="The session whose documents are searched too. Default: the global ones alone."
    )
    user_id: Name | None = Field(
        None, description="Whose memories are searched. A user key: that user, or left out."
    )
    project: Name | None = Field(None, description="Whose conversations, code and dreams are searched.")
    top_k: int | None = Field(
        None, ge=1, description="Results, at most: up to RAG_TOP_K_MAX. Default: 10, or that if it is less."
    )
    filter: SearchFilter | None = Field(None, description="What the search is about.")
    include: Include = Field(
        default=["text", "scores"], description="What each result has besides: `text`, `scores`."
    )


class SearchResult(CitationOut):
    """A passage that was found. Unless `include` says otherwise it has `text`, `similarity` and `score`."""


class SearchSummary(Out):
    """How the search went."""

    pending: list[PendingDocumentOut] | None = Field(
        None,
        exclude_if=absent,
        description="Only with `processing`: what is still being read, newest first, at most ten.",
    )
    used: bool = Field(description="Whether there are results.")
    reason: Reason = Field(description="`ok`, or why there are no results, as in an answer.")
    cached: bool = Field(description="The results came from the cache.")
    passages: int = Field(description="Number of results.")
    tokens: int = Field(description="Tokens of their texts (o200k).")


class SearchReply(Out):
    """The passages found, best first."""

    results: list[SearchResult] = Field(description="What /api/chat would show its model, in that order.")
    rag: SearchSummary = Field(description="How the search went.")
    notes: list[str] = Field(description="Notes on the search, for people.")
    degraded: list[DegradedSource] = Field(description="What did not do its part; empty: all is well.")
    took_ms: int = Field(description="Milliseconds that it took.")
