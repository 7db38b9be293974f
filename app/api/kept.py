"""What clients get of what they keep: memories and the corpus, as schemas, shapes and examples.

The story of the examples: Ada, who sleeps badly. A test holds them against the schemas.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Literal

from pydantic import BaseModel, Field

from app.db.corpus import Reference, Shelf
from app.db.memories import Memory, Outcome, Written
from app.types import moment

MEMORY_ID = "6f3a8f6e-7b0c-5a6e-9a3e-0f4f5f9a1c2d"
MEMORY: Mapping[str, Any] = {
    "id": MEMORY_ID,
    "user_id": "ada",
    "text": "I sleep badly when I read late.",
    "kind": "note",
    "tags": ["sleep"],
    "origin": "api",
    "vantage_id": None,
    "thread_id": None,
    "tokens": 8,
    "created_at": "2026-11-21T21:30:00Z",
}
WRITTEN: Mapping[str, Any] = {"outcome": "created", "memory": MEMORY}
ECHO: Mapping[str, Any] = {"outcome": "echo", "memory": None}
NEXT = "MTc5MDAwMDAwMDAwMDAwMHw2ZjNhOGY2ZQ"
MEMORIES: Mapping[str, Any] = {"items": [MEMORY], "next": NEXT}
POSTED: Mapping[str, Any] = {
    "one": {
        "summary": "One",
        "value": {"user_id": "ada", "text": "I sleep badly when I read late.", "tags": ["sleep"]},
    },
    "several": {
        "summary": "Several, of one user",
        "value": [
            {
                "user_id": "ada",
                "text": "Two cups of coffee at most, and none after noon.",
                "kind": "preference",
                "created_at": "2026-11-02T08:15:00+01:00",
            },
            {"user_id": "ada", "text": "The new lamp helps.", "thread_id": "evenings", "origin": "journal"},
        ],
    },
}
TEXTS: Mapping[str, Any] = {
    "texts": {
        "summary": "Texts, named or not",
        "value": {
            "texts": [
                "Light in the evening delays sleep.",
                {
                    "id": "hygiene-3",
                    "title": "Sleep hygiene",
                    "text": "Keep the hours of going to bed and of rising.",
                    "metadata": {"kind": "guideline", "url": "https://example.org/sleep#3"},
                },
            ]
        },
    }
}
TEXT: Mapping[str, Any] = {"outcome": "created", "id": "hygiene-3", "tokens": 11}
KEPT_TEXTS: Mapping[str, Any] = {"collection": "sleep", "items": [TEXT]}
LISTED_TEXTS: Mapping[str, Any] = {
    "items": [
        {
            "id": "hygiene-3",
            "title": "Sleep hygiene",
            "text": "Keep the hours of going to bed and of rising.",
            "metadata": {"kind": "guideline", "url": "https://example.org/sleep#3"},
            "tokens": 11,
            "created_at": "2026-11-21T21:31:00Z",
        }
    ],
    "next": None,
}
COLLECTION: Mapping[str, Any] = {
    "collection": "sleep",
    "texts": 2,
    "tokens": 18,
    "updated_at": "2026-11-21T21:31:00Z",
}
COLLECTIONS: Mapping[str, Any] = {"items": [COLLECTION], "next": None}


class MemoryReply(BaseModel):
    """A memory."""

    id: str
    user_id: str
    text: str
    kind: str
    tags: list[str]
    origin: str
    vantage_id: str | None
    thread_id: str | None
    tokens: int
    created_at: datetime


class WrittenReply(BaseModel):
    """What became of one."""

    outcome: Literal["created", "repeated", "echo"] = Field(
        description="`repeated`: the user has one of the same words already; `echo`: nothing but what was"
        " recalled, or said by the assistant, in that conversation: not kept."
    )
    memory: MemoryReply | None = Field(
        description="As it is kept: of a partial echo the new sentences alone."
    )


class SeveralReply(BaseModel):
    """What became of each, in order."""

    items: list[WrittenReply]


class MemoryList(BaseModel):
    """A page of memories, newest first."""

    items: list[MemoryReply]
    next: str | None = Field(description="The `cursor` of the next page.")


class TextReply(BaseModel):
    """What became of a text."""

    outcome: Literal["created", "replaced"]
    id: str = Field(description="As it was sent, else made of its words.")
    tokens: int


class TextsReply(BaseModel):
    """What became of each, in order."""

    collection: str
    items: list[TextReply]


class ListedText(BaseModel):
    """A reference text as it was written."""

    id: str
    title: str
    text: str
    metadata: dict[str, Any]
    tokens: int
    created_at: datetime


class TextList(BaseModel):
    """A page of a collection's texts, by id."""

    items: list[ListedText]
    next: str | None = Field(description="The `cursor` of the next page.")


class CollectionReply(BaseModel):
    """A collection in figures."""

    collection: str
    texts: int
    tokens: int
    updated_at: datetime


class CollectionList(BaseModel):
    """The collections that were written here, by name."""

    items: list[CollectionReply]
    next: None = None


def memory(kept: Memory) -> dict[str, Any]:
    """A memory as JSON."""
    told = {name: getattr(kept, name) for name in MemoryReply.model_fields}
    return told | {"tags": list(kept.tags), "created_at": moment(kept.created_at)}


def written(each: Written) -> dict[str, Any]:
    """An outcome as JSON."""
    return {"outcome": str(each.outcome), "memory": memory(each.memory) if each.memory else None}


def created(outcomes: list[Written]) -> bool:
    """Whether anything is new."""
    return any(each.outcome is Outcome.CREATED for each in outcomes)


def text(reference: Reference, *, fresh: bool) -> dict[str, Any]:
    """A reference text as JSON."""
    return {
        "outcome": "created" if fresh else "replaced",
        "id": reference.id,
        "tokens": reference.tokens,
    }


def listed(reference: Reference) -> dict[str, Any]:
    """A reference text as JSON, whole."""
    told = {name: getattr(reference, name) for name in ListedText.model_fields}
    return told | {"metadata": dict(reference.metadata), "created_at": moment(reference.created_at)}


def collection(found: Shelf) -> dict[str, Any]:
    """A collection as JSON."""
    told = {name: getattr(found, name) for name in CollectionReply.model_fields}
    return told | {"updated_at": moment(found.updated_at)}
