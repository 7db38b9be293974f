"""POST /api/chat: the question, the events of an answer, and the answer as one object."""

from typing import Annotated, Any, Literal, TypeAlias

from pydantic import BaseModel, Field

from app.api.schemas import (
    Body,
    LongText,
    Message,
    Name,
    Note,
    Out,
    PastTime,
    SessionId,
    TextId,
    absent,
    read,
)
from app.types import Filter

HISTORY_MOST, NOTES_MOST = 1_000, 50

SourceName = Literal["documents", "memories", "corpus", "conversations", "code", "dreams"]
Reason: TypeAlias = Literal[
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
]
Remembered = Literal["created", "repeated", "echo", "skipped", "failed"]
Finished = Literal["stop", "length", "cancelled"]
Verdict = Literal["packed", "below_threshold", "duplicate", "over_limit", "over_budget", "skipped"]
VERDICT = (
    "`packed`: the model saw it; otherwise why not. `over_limit`: beyond top_k, or the three memories."
    " `over_budget`: no tokens were left for it."
)
SUPPORT = (
    "How well the passage carries the sentence that cites it. `strong`: the passage has the quotation, or the"
    " sentence, word for word. `weak`: in part. `none`: nothing of it. `unchecked`: not judged."
)
INCLUDE = (
    "What each citation of the reply also has: `text`, the passage; `scores`, its `similarity` and `score`."
)
SPANS = "Where the answer cites, in order; one for each label of each place."
REFERENCE_ID = (
    "For a reference text, the id its writer gave it or one made from its words, unique within the"
    " collection."
)


Include: TypeAlias = Annotated[list[Literal["text", "scores"]], Field(max_length=2)]


class HistoryTurn(Body):
    """An earlier turn of the conversation."""

    role: Literal["user", "assistant"] = Field(description="Who spoke.")
    content: LongText = Field(description="What was said.")


Ids: TypeAlias = Annotated[list[TextId], Field(min_length=1, max_length=100)]


class SearchFilter(Body):
    """What the search is about: all that is given applies, before the best are chosen."""

    document_ids: Ids | None = Field(None, description="Passages of these documents alone.")
    collections: Ids | None = Field(None, description="Reference texts of these collections alone.")
    since: PastTime | None = Field(
        None,
        description="Documents uploaded, and memories and texts written, at this time or later (RFC 3339).",
    )

    def filter(self) -> Filter:
        return Filter(
            documents=None if self.document_ids is None else tuple(self.document_ids),
            collections=None if self.collections is None else tuple(self.collections),
            since=read(self.since) if self.since else None,
        )


class ChatRequest(Body):
    """A question, and where its answer is searched."""

    message: Message = Field(description="The question; not only white space.")
    session_id: SessionId = Field(
        "default", description="The session whose documents are searched, together with the global ones."
    )
    user_id: Name | None = Field(None, description="Who asks. A user key: that user, or left out.")
    thread_id: Name | None = Field(None, description="The conversation. Default: the session.")
    project: Name | None = Field(
        None,
        description="A project that the question is about: the model sees its overview, rules and notes, and"
        " its own context if `sources` is left out; otherwise the sources are searched within the project.",
    )
    sources: list[SourceName] | None = Field(
        None,
        min_length=1,
        description="Where to search; results of several sources are ranked together, within one budget."
        " `memories` needs a user_id. Default: what the project defines; without a project, documents.",
    )
    filter: SearchFilter | None = Field(None, description="What of the sources the question is about.")
    history: list[HistoryTurn] | None = Field(
        None,
        max_length=HISTORY_MOST,
        description="The turns before this one. Default: those stored under the thread.",
    )
    notes: list[Note] = Field(default=[], max_length=NOTES_MOST, description="Texts that the model is given.")
    top_k: int | None = Field(
        None, ge=1, description="Passages that the model is given, at most: up to RAG_TOP_K_MAX, its default."
    )
    model: Name | None = Field(None, description="A chat model other than the configured one.")
    include: Include = Field(default=[], description=INCLUDE)
    remember: bool = Field(
        default=False,
        description="Keep the user's own words as a memory once the answer has ended (`remembered` says what"
        " happened); needs a user_id.",
    )
    on_disconnect: Literal["cancel", "continue"] = Field(
        "cancel", description="What happens to the answer if the client leaves."
    )
    stream: bool = Field(default=True, description="False: one JSON object instead of events.")


class PendingDocumentOut(Out):
    """A document in reach that is still being read."""

    id: str = Field(description="The document's id.")
    filename: str = Field(description="Its file name.")


class RetrievalSummary(Out):
    """What retrieval found, and what of it the model saw."""

    pending: list[PendingDocumentOut] | None = Field(
        None,
        exclude_if=absent,
        description="Only with `processing`: what is still being read, newest first, at most ten.",
    )
    used: bool = Field(description="Whether the model saw passages.")
    reason: Reason = Field(
        description="`processing`: nothing matched, and a document in reach is still being read. `greeting`:"
        " /rag/query and /vantage/query look nothing up for one. `not_asked`: the response class or the mix"
        " looks nothing up. `cancelled`: the client left before the sources had answered."
    )
    cached: bool = Field(description="The search result came from the cache.")
    passages: int = Field(description="Passages that the model saw.")
    tokens: int = Field(description="Tokens of the context block.")
    budget: int = Field(description="Tokens that the context block could have had.")
    took_ms: int = Field(description="Milliseconds that retrieval took.")


class CitationOut(Out):
    """A passage that the model saw, in prompt order."""

    label: str = Field(description="What stands in brackets in the answer.")
    source: str = Field(description="The source it was found in.")
    id: str = Field(description=REFERENCE_ID)
    title: str = Field(
        description='The title of its document or text, "" if it has none; of a memory its day.'
    )
    page: int | None = Field(description="First page, physical, from 1; null: no pages.")
    page_end: int | None = Field(description="Last page; null: no pages.")
    page_label: str | None = Field(None, description="Page number as printed, or several; null: not known.")
    url: str | None = Field(description="Address of the passage; null: it has none.")
    web_url: str | None = Field(
        None,
        description="Absolute address that a browser can open; null: there is none, or no IBID_PUBLIC_URL.",
    )
    metadata: dict[str, Any] = Field(description="The reference text's metadata; `{}` for other sources.")
    text: str | None = Field(
        None, exclude_if=absent, description="The passage's text; only if `include` has `text`."
    )
    similarity: float | None = Field(
        None,
        exclude_if=absent,
        description="Cosine in [-1, 1]; only if `include` has `scores`, and not if found by words alone.",
    )
    score: float | None = Field(
        None, exclude_if=absent, description="What passages are ordered by; only if `include` has `scores`."
    )


class DegradedSource(Out):
    """A source, model or store that did not do its part."""

    source: str = Field(description="Its name.")
    reason: str = Field(description="Why, in one word.")


class TokenUsage(Out):
    """Tokens of the prompt and the answer."""

    prompt_tokens: int = Field(description="Of the prompt.")
    completion_tokens: int = Field(description="Of the answer.")


class DebugCandidate(Out):
    """A passage that the search saw."""

    id: str = Field(description="Its id within its source.")
    label: str = Field(description="Its label.")
    similarity: float | None = Field(description="Cosine in [-1, 1]; null: found by words alone.")
    score: float = Field(description="What candidates are ordered by.")
    verdict: Verdict = Field(description=VERDICT)


class DebugInfo(Out):
    """What the model was given. Only with RAG_DEBUG_MODE."""

    chunks: list[DebugCandidate] = Field(description="Every passage that the search saw, best first.")
    prompt_sha256: str = Field(description="SHA-256 of the prompt.")
    prompt: str = Field(description="The prompt as text.")


class AnswerHead(Out):
    """The facts that every answer begins with."""

    answer_id: str = Field(description="The answer's id, for /answers/{answer_id} and feedback.")
    session_id: str | None = Field(description="The session; null: the endpoint has none.")
    model: str = Field(description="The chat model.")
    rag: RetrievalSummary = Field(description="What retrieval found, and what of it the model saw.")
    citations: list[CitationOut] = Field(description="The passages that the model saw, in prompt order.")
    notes: list[str] = Field(description="Notes on the retrieval, for people.")
    degraded: list[DegradedSource] = Field(description="What did not do its part; empty: all is well.")


class ChatMeta(AnswerHead):
    """Data of the event `meta`, the first one."""

    debug: DebugInfo | None = Field(None, exclude_if=absent, description="Only with RAG_DEBUG_MODE.")


class TokenEvent(Out):
    """Data of the event `token`."""

    text: str = Field(description="A part of the answer.")


class CitationSpan(Out):
    """Where a citation stands in the answer."""

    start: int = Field(description="Code points of the answer before its opening bracket.")
    end: int = Field(description="Code points of the answer up to its closing bracket.")
    label: str = Field(description="The label that it names.")
    n: int = Field(description="The label's number: its place in `cited`, from 1.")
    quote: str | None = Field(
        None, exclude_if=absent, description="The quotation that it stands behind; only if there is one."
    )
    support: Literal["strong", "weak", "none", "unchecked"] = Field(description=SUPPORT)


class CitationMarks(Out):
    """Data of the event `citations`: which passages the answer cites."""

    cited: list[str] = Field(description="Labels that the answer cites, in order.")
    unknown: list[str] = Field(description="Labels that the model invented; they were removed from the text.")
    appended: bool = Field(
        description="The model cited nothing, so the most similar passages were named at the end."
    )
    spans: list[CitationSpan] = Field(description=SPANS)


class AnswerEnd(Out):
    """Data of the event `done`, the last one."""

    answer_id: str = Field(description="The answer's id, for /answers/{answer_id} and feedback.")
    finish_reason: Finished = Field(description="How the answer ended.")
    usage: TokenUsage = Field(description="Tokens as the model's server counted them, or estimated.")
    took_ms: int = Field(description="Milliseconds from the request to the end.")
    remembered: Remembered | None = Field(
        description="What became of the message as a memory; null: `remember` was not asked for."
    )


class ChatReply(AnswerEnd, CitationMarks, ChatMeta):
    """An answer as one object (`stream: false`)."""

    answer: str = Field(description="The answer.")


class ServerSentEvent(BaseModel):
    """An event of an answer."""

    id: str = Field(pattern=r"^[0-9a-f-]{36}:[0-9]+$", description="`<answer_id>:<n>`, n from 1.")
    event: Literal["meta", "token", "citations", "done", "error"] = Field(
        description="`meta`, `token`…, `citations`, `done`; or `error`, after which nothing follows."
    )
    data: Annotated[str, Field(description="JSON, by the name of the event.")]
