"""/rag: questions and answers from memory, and feedback on them."""

from typing import Annotated, Any, Literal, TypeAlias

from pydantic import ConfigDict, Field

from app.api.schemas import (
    Body,
    Message,
    Name,
    Note,
    Out,
    absent,
    by_form,
    examples,
    is_object,
)
from app.api.schemas.chat import ANSWER_ID, REFERENCE_ID, AnswerEnd, AnswerHead, CitationMarks, DebugInfo
from app.api.schemas.memories import MEMORY_ID, LastActivity


class OverlayOptions(Body):
    """How an answer should sound, part by part."""

    role: Note | None = Field(None, description="Who speaks.", examples=["a patient coach"])
    tone: Note | None = Field(None, description="The tone.", examples=["warm and plain"])
    format: Note | None = Field(None, description="The form.", examples=["a short list"])
    instructions: Note | None = Field(None, description="Anything else.", examples=["End with one question."])


Overlay: TypeAlias = Annotated[Note | OverlayOptions, by_form(is_object, OverlayOptions, Note)]


class RagRequest(Body):
    """A message to be answered from a person's memory."""

    model_config = ConfigDict(
        json_schema_extra=examples(
            {"user_id": "ada", "message": "What helped me sleep last winter?"},
            {
                "user_id": "ada",
                "message": "What helped me sleep last winter?",
                "thread_id": "evenings",
                "top_k": 8,
                "overlay": {
                    "role": "a patient coach",
                    "tone": "warm and plain",
                    "format": "a short list",
                    "instructions": "End with one question.",
                },
                "remember": True,
                "stream": False,
            },
            {"user_id": "ada", "message": "Plan my evening", "overlay": "Answer in two sentences."},
            {"user_id": "ada", "message": "hey again!"},
        )
    )

    user_id: Name | None = Field(
        None,
        description="Whose memories are searched. A tenant key must name one; a user key implies it.",
        examples=["ada"],
    )
    message: Message = Field(description="The message; not only white space.")
    thread_id: Name | None = Field(None, description="The conversation. Default: the user's default thread.")
    top_k: int = Field(8, ge=1, le=50, description="Reference texts, at most; of memories at most three.")
    overlay: Overlay | None = Field(None, description="How the answer should sound, for this message alone.")
    remember: bool = Field(default=False, description="Keep the user's own words as a memory.")
    stream: bool = Field(default=False, description="True: events, as /api/chat sends them.")


class UsedMemory(Out):
    """A memory or a reference text that the model saw."""

    id: str = Field(description=REFERENCE_ID)
    source: Literal["memories", "corpus"] = Field(description="The source it was found in.")
    collection: str | None = Field(description="Its collection.")
    kind: str | None = Field(description="Its kind.")
    origin: str | None = Field(description="Who wrote it (the payload's `source`).")
    title: str = Field(description='Its title; "": it has none.')
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
    """Why these memories."""

    query_tags: list[str] = Field(description="Tags of the message.")
    feedback: VoteBalance = Field(description="Votes on the memories used.")
    format_consistency: float | None = Field(
        description="Share of the memories used that have the wanted form, or the usual one; null: no form."
    )
    gravity: GravityFit = Field(description="How the message fits the user's usual subjects.")
    temporal: LastActivity | None = Field(
        description="When the user last said something, before this message; null: not known."
    )


RAG_LABEL = "memory#k3v9q2ax"
RAG_ANSWER = f"Reading on paper for half an hour before bed [{RAG_LABEL}]."
USED = {
    "id": MEMORY_ID,
    "source": "memories",
    "collection": "memory_raw",
    "kind": "note",
    "origin": "frontend/chat:user",
    "title": "",
    "metadata": {},
    "text": "Reading on paper for half an hour before bed has helped me sleep since December.",
    "label": RAG_LABEL,
    "similarity": 0.58,
    "relevance": 0.7,
    "score": 0.735,
    "boosts": {"feedback": 1.05, "format": 1.0, "vb_desire": 1.0, "gravity": 1.0},
}
EXPLANATION = {
    "query_tags": ["vb:rest"],
    "feedback": {"positive": 1, "negative": 0, "net": 1},
    "format_consistency": None,
    "gravity": {"misalignment": 0.12, "label": "aligned"},
    "temporal": {"bucket": "days", "last_message_at": "2026-11-18T21:04:11Z", "seconds_since": 217_829.0},
}
HEAD: dict[str, Any] = {
    "answer_id": ANSWER_ID,
    "session_id": None,
    "model": "gpt-5.2",
    "rag": {
        "used": True,
        "reason": "ok",
        "cached": False,
        "passages": 1,
        "tokens": 41,
        "budget": 50_000,
        "took_ms": 12,
    },
    "citations": [
        {
            "label": RAG_LABEL,
            "source": "memories",
            "id": MEMORY_ID,
            "title": "",
            "page": None,
            "page_end": None,
            "url": None,
            "metadata": {},
        }
    ],
    "notes": ["Retrieved 1 passages from memories"],
    "degraded": [],
}
RAG_META = {**HEAD, "memory_used": [USED], "meta_explanation": EXPLANATION, "bypass": None}
RAG_MARKS: dict[str, Any] = {"cited": [RAG_LABEL], "unknown": [], "appended": False}
RAG_END = {
    "answer_id": ANSWER_ID,
    "finish_reason": "stop",
    "usage": {"prompt_tokens": 262, "completion_tokens": 17},
    "took_ms": 804,
    "remembered": "created",
}


class RagMeta(AnswerHead):
    """Data of the event `meta` of /rag/query."""

    model_config = ConfigDict(json_schema_extra=examples(RAG_META))

    memory_used: list[UsedMemory] = Field(description="What the model saw, in that order.")
    meta_explanation: MemoryExplanation = Field(description="Why these memories.")
    bypass: Literal["greeting", "small_talk"] | None = Field(
        description="`greeting`, `small_talk`: nothing was looked up."
    )
    system_prompt: str | None = Field(None, exclude_if=absent, description="Only with RAG_DEBUG_MODE.")
    debug: DebugInfo | None = Field(None, exclude_if=absent, description="Only with RAG_DEBUG_MODE.")


WITHOUT_SESSION = {name: value for name, value in RAG_META.items() if name != "session_id"}


class RagReply(AnswerEnd, CitationMarks, RagMeta):
    """An answer from memory as one object (`stream: false`)."""

    model_config = ConfigDict(
        json_schema_extra=examples({**WITHOUT_SESSION, **RAG_MARKS, **RAG_END, "answer": RAG_ANSWER})
    )

    session_id: str | None = Field(None, exclude_if=absent, description="The session, if there is one.")
    answer: str = Field(description="The answer.")


class FeedbackRequest(Body):
    """What somebody said about an answer."""

    model_config = ConfigDict(
        json_schema_extra=examples(
            {"user_id": "ada", "message": "Thanks, as a short list it is perfect."},
            {"user_id": "ada", "message": "No.", "answer_id": ANSWER_ID, "rating": "down"},
        )
    )

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
    rating: Literal["up", "down"] | None = Field(None, description="Decides, whatever the message says.")


class FeedbackReply(Out):
    """What the feedback changed."""

    model_config = ConfigDict(
        json_schema_extra=examples(
            {
                "answer_id": ANSWER_ID,
                "sentiment": "positive",
                "decided_by": "marker",
                "tag": "format:skeleton",
                "memory_ids": [MEMORY_ID],
                "applied": 1,
                "persona_refreshed": True,
            }
        )
    )

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
