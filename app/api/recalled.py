"""What /rag/query answers, as OpenAPI shows it: schemas and examples, one story throughout (`ada`, who keeps
a diary). Tests hold both against the real replies.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Literal

from pydantic import BaseModel, Field

from app.api.events import MEDIA
from app.api.examples import ANSWER_ID, EVENT, EVENTS, whole
from app.api.replies import KeptRag, WholeReply


class UsedMemory(BaseModel):
    """A memory or a reference text that the model saw."""

    id: str = Field(
        description="For a reference text, the id its writer gave it or one made from its words, unique"
        " within the collection."
    )
    source: Literal["memories", "corpus"]
    collection: str | None
    kind: str | None
    origin: str | None = Field(description="Who wrote it (the payload's `source`).")
    title: str
    metadata: dict[str, Any] = Field(description="The reference text's metadata; `{}` for other sources.")
    text: str
    label: str = Field(description="What stands in brackets in the answer.")
    similarity: float | None = Field(description="Cosine in [-1, 1]; null when it was not found by meaning.")
    relevance: float = Field(description="From words and meaning, in [0, 1].")
    score: float = Field(description="Relevance times all boosts.")
    boosts: dict[str, float] = Field(description="Factors by name, each in [0.9, 1.1].")


class FeedbackReply(BaseModel):
    """Votes on the memories used."""

    positive: int
    negative: int
    net: int


class GravityReply(BaseModel):
    """How far the message is from what its sender usually turns to."""

    misalignment: float = Field(description="In [0, 1].")
    label: Literal["unknown", "aligned", "drifting", "misaligned"]


class TemporalReply(BaseModel):
    """When the user last said something, before this message."""

    bucket: Literal["new", "minutes", "hours", "days", "weeks", "months"]
    last_message_at: datetime | None
    seconds_since: float | None


class MetaExplanation(BaseModel):
    """Why these memories."""

    query_tags: list[str]
    feedback: FeedbackReply
    format_consistency: float | None = Field(
        description="Share of the memories used that have the form asked for, or the usual; null: no form."
    )
    gravity: GravityReply
    temporal: TemporalReply | None = Field(description="Null: not known.")


class RagReply(WholeReply):
    """An answer from memory, whole (`stream: false`)."""

    memory_used: list[UsedMemory] = Field(description="In the order in which the model saw them.")
    meta_explanation: MetaExplanation
    bypass: Literal["greeting", "small_talk"] | None = Field(
        description="`greeting`, `small_talk`: nothing was looked up."
    )
    rag: KeptRag
    system_prompt: str | None = Field(None, description="Only with RAG_DEBUG_MODE.")


MEMORY_ID = "5a1c9d52-8f0e-5b7a-9d7e-2f4c1b6a8e31"
LABEL = "memory#k3v9q2ax"
ANSWER = f"Reading on paper for half an hour before bed [{LABEL}]."
QUERY: Mapping[str, Any] = {
    "ask": {"summary": "Ask", "value": {"user_id": "ada", "message": "What helped me sleep last winter?"}},
    "everything": {
        "summary": "Every field",
        "value": {
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
    },
    "overlay": {
        "summary": "An overlay as text",
        "value": {"user_id": "ada", "message": "Plan my evening", "overlay": "Answer in two sentences."},
    },
    "greeting": {"summary": "A greeting", "value": {"user_id": "ada", "message": "hey again!"}},
}
USED: Mapping[str, Any] = {
    "id": MEMORY_ID,
    "source": "memories",
    "collection": "memory_raw",
    "kind": "note",
    "origin": "frontend/chat:user",
    "title": "",
    "metadata": {},
    "text": "Reading on paper for half an hour before bed has helped me sleep since December.",
    "label": LABEL,
    "similarity": 0.58,
    "relevance": 0.7,
    "score": 0.735,
    "boosts": {"feedback": 1.05, "format": 1.0, "vb_desire": 1.0, "gravity": 1.0},
}
EXPLANATION: Mapping[str, Any] = {
    "query_tags": ["vb:rest"],
    "feedback": {"positive": 1, "negative": 0, "net": 1},
    "format_consistency": None,
    "gravity": {"misalignment": 0.12, "label": "aligned"},
    "temporal": {"bucket": "days", "last_message_at": "2026-11-18T21:04:11Z", "seconds_since": 217_829.0},
}
META: Mapping[str, Any] = {
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
            "label": LABEL,
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
    "memory_used": [USED],
    "meta_explanation": EXPLANATION,
    "bypass": None,
}
MARKS = {"cited": [LABEL], "unknown": [], "appended": False}
ENDED = {
    "answer_id": ANSWER_ID,
    "finish_reason": "stop",
    "usage": {"prompt_tokens": 262, "completion_tokens": 17},
    "took_ms": 804,
    "remembered": "created",
}
REPLY: Mapping[str, Any] = {
    **{key: value for key, value in META.items() if key != "session_id"},
    **MARKS,
    **ENDED,
    "answer": ANSWER,
}
SAID: Mapping[str, Mapping[str, Any]] = {
    "meta": META,
    "token": {"text": ANSWER},
    "citations": MARKS,
    "done": ENDED,
    "error": EVENTS["error"],
}
"""The data of each event."""


def either(reply: Mapping[str, Any], said: Mapping[str, Mapping[str, Any]]) -> Mapping[str, Any]:
    """A response that is one object, or a stream of events."""
    streamed = {"whole": {"summary": "A whole answer", "value": whole(said)}}
    return {
        "description": "The answer: one object, or (`stream: true`) a stream of events",
        "content": {
            "application/json": {"example": reply},
            MEDIA: {
                "schema": {"type": "array", "items": EVENT},
                "itemSchema": EVENT,
                "examples": streamed,
            },
        },
    }


RESPONSE = either(REPLY, SAID)
