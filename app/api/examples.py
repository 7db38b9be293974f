"""What OpenAPI shows as examples: every body, every event of the stream, the reply. One story throughout:
a session `thesis` that holds `report.pdf`. A test holds them against the schemas and the real replies.
"""

from collections.abc import Mapping
from typing import Any

from app.api.events import MEDIA
from app.api.wire import encoded
from app.errors import ModelTimeout
from app.problems import EXAMPLE_ID, document

ANSWER_ID = "01998f3a-9d21-7e40-a4b3-0c9d6f0b7a55"
DOCUMENT_ID = "01998f39-1c02-7b3a-9c41-5d2f8e6a1b90"

CITATION: Mapping[str, Any] = {
    "label": "report.pdf#3",
    "source": "documents",
    "id": f"{DOCUMENT_ID}:3",
    "title": "Annual report 2023",
    "page": 12,
    "page_end": 13,
    "url": f"/api/documents/{DOCUMENT_ID}/chunks/3?session_id=thesis",
    "metadata": {},
}
RAG: Mapping[str, Any] = {
    "used": True,
    "reason": "ok",
    "cached": False,
    "passages": 1,
    "tokens": 214,
    "budget": 50_000,
    "took_ms": 18,
}
NOTES = ["Retrieved 1 passages from documents"]
USAGE = {"prompt_tokens": 331, "completion_tokens": 19}
DEBUG: Mapping[str, Any] = {
    "chunks": [
        {
            "id": f"{DOCUMENT_ID}:3",
            "label": "report.pdf#3",
            "similarity": 0.61,
            "score": 0.97,
            "verdict": "packed",
        }
    ],
    "prompt_sha256": "9f2c1f6e0f3f6f0f5d9c3f1f2f0c4b8a7e6d5c4b3a29181716151413121110ff",
    "prompt": '[System] You are an AI assistant...\n[Context]\n- From report.pdf#3: "Revenue rose to…"'
    "\n[User] What was revenue in 2023?",
}
MARKS = {"cited": ["report.pdf#3"], "unknown": [], "appended": False}
ENDED = {
    "answer_id": ANSWER_ID,
    "finish_reason": "stop",
    "usage": USAGE,
    "took_ms": 912,
    "remembered": None,
}

META: Mapping[str, Any] = {
    "answer_id": ANSWER_ID,
    "session_id": "thesis",
    "model": "gpt-5.2",
    "rag": RAG,
    "citations": [CITATION],
    "notes": NOTES,
    "degraded": [],
    "debug": DEBUG,
}
EVENTS: Mapping[str, Mapping[str, Any]] = {
    "meta": META,
    "token": {"text": "Revenue rose to $4.2 billion [report.pdf#3]."},
    "citations": MARKS,
    "done": ENDED,
    "error": document(ModelTimeout(), EXAMPLE_ID),
}
"""The data of each event."""

CHAT_REPLY: Mapping[str, Any] = {
    **META,
    **MARKS,
    **ENDED,
    "answer": "Revenue rose to $4.2 billion [report.pdf#3].",
}
SEVERAL = {"message": "Where is revenue computed?", "session_id": "thesis", "sources": ["documents", "code"]}
PROJECT = {"message": "Which VLAN is the Mac Mini on?", "session_id": "home", "project": "THN"}
CHAT: Mapping[str, Any] = {
    "ask": {"summary": "Ask", "value": {"message": "What was revenue in 2023?", "session_id": "thesis"}},
    "project": {"summary": "A project's", "value": PROJECT},
    "sources": {"summary": "Of several sources as one", "value": SEVERAL},
    "everything": {
        "summary": "Every field",
        "value": {
            "message": "And the year before?",
            "session_id": "thesis",
            "user_id": "ada",
            "thread_id": "thesis-chapter-2",
            "project": "THN",
            "sources": ["documents"],
            "history": [
                {"role": "user", "content": "What was revenue in 2023?"},
                {"role": "assistant", "content": "Revenue rose to $4.2 billion [report.pdf#3]."},
            ],
            "notes": ["Amounts in the answer are in US dollars."],
            "top_k": 8,
            "model": "gpt-5.2",
            "remember": False,
            "on_disconnect": "cancel",
            "stream": False,
        },
    },
}


EVENT: Mapping[str, Any] = {
    "type": "object",
    "required": ["id", "event", "data"],
    "properties": {
        "id": {"type": "string", "pattern": r"^[0-9a-f-]{36}:[0-9]+$", "description": "`<answer_id>:<n>`"},
        "event": {"type": "string", "enum": list(EVENTS)},
        "data": {"type": "string", "contentMediaType": "application/json"},
    },
}
"""An event as OpenAPI describes it; what its data holds, the examples show."""


def event(name: str, n: int, said: Mapping[str, Mapping[str, Any]] = EVENTS) -> str:
    """An event as it stands on the wire; `said`: the data of each."""
    return f"id: {ANSWER_ID}:{n}\nevent: {name}\ndata: {encoded(said[name]).decode()}\n\n"


def whole(said: Mapping[str, Mapping[str, Any]] = EVENTS) -> str:
    """A stream from its head to its end."""
    return "".join(event(name, n, said) for n, name in enumerate(("meta", "token", "citations", "done"), 1))


def stream() -> dict[str, Any]:
    """The stream as a whole and event by event."""
    alone = {name: {"summary": f"event: {name}", "value": event(name, 1)} for name in EVENTS}
    ping = {"ping": {"summary": "a comment, every 15 s", "value": ": ping\n\n"}}
    return {"whole": {"summary": "A whole answer", "value": whole()}, **alone, **ping}


CHAT_RESPONSE: Mapping[str, Any] = {
    "description": "The answer: a stream of events, or (`stream: false`) one object",
    "content": {
        # `itemSchema` is OpenAPI 3.2's word for one event of a stream; FastAPI writes it into 3.1 too.
        MEDIA: {"schema": {"type": "array", "items": EVENT}, "itemSchema": EVENT, "examples": stream()},
        "application/json": {"example": CHAT_REPLY},
    },
}

DOCUMENT: Mapping[str, Any] = {
    "id": DOCUMENT_ID,
    "label": "report.pdf",
    "filename": "report.pdf",
    "scope": "session",
    "session_id": "thesis",
    "user_id": None,
    "state": "ready",
    "pages": 96,
    "chunks": 310,
    "tokens": 61_204,
    "sha256": "3a7bd3e2360a3d29eea436fcfb7e44c735d117c42d1c1835420b6b9942dd4f1b",
    "created_at": "2026-11-21T09:30:00Z",
}
PROCESSING = {**DOCUMENT, "state": "processing", "pages": 0, "chunks": 0, "tokens": 0}
DOCUMENTS: Mapping[str, Any] = {"items": [DOCUMENT], "next": DOCUMENT_ID}
CHUNK: Mapping[str, Any] = {
    "label": "report.pdf#3",
    "text": "Revenue rose to $4.2 billion in 2023, from $3.8 billion the year before.",
    "page": 12,
    "page_end": 13,
    "heading": "Results › Revenue",
    "tokens": 21,
}
FILE: Mapping[str, Any] = {"application/pdf": {"schema": {"type": "string", "format": "binary"}}}

UPLOAD: Mapping[str, Any] = {
    "required": True,
    "content": {
        "multipart/form-data": {
            "schema": {
                "type": "object",
                "required": ["file"],
                "additionalProperties": False,
                "oneOf": [{"required": ["session_id"]}, {"required": ["scope"]}],
                "properties": {
                    "file": {"type": "string", "format": "binary", "description": "The PDF."},
                    "session_id": {
                        "type": "string",
                        "pattern": r"^[A-Za-z0-9._:\-]{1,200}$",
                        "description": "The session it belongs to; or else send `scope`.",
                    },
                    "scope": {"type": "string", "enum": ["global"], "description": "For every session."},
                    "user_id": {
                        "type": "string",
                        "minLength": 1,
                        "maxLength": 200,
                        "pattern": r"^[^\x00-\x1f\x7f]+$",
                        "description": "Whose it is, for export and erasure. A user key: that user, or left"
                        " out. The same file sent for several users is erased with the last of them.",
                    },
                    "replace": {
                        "type": "string",
                        "enum": ["true", "false"],
                        "default": "false",
                        "description": "Take the place of a document of the same name.",
                    },
                    "wait": {
                        "type": "number",
                        "minimum": 0,
                        "maximum": 300,
                        "default": 30,
                        "description": "Seconds to wait until it is searchable.",
                    },
                },
            },
            "examples": {
                "session": {
                    "summary": "Into a session",
                    "value": {"file": "(report.pdf)", "session_id": "thesis", "wait": 60},
                },
                "global": {
                    "summary": "For every session, in place of the one of that name",
                    "value": {"file": "(report.pdf)", "scope": "global", "replace": "true"},
                },
            },
        }
    },
}
KEPT: Mapping[str, Any] = {
    "headers": {
        "Location": {
            "description": "Where the document is.",
            "schema": {"type": "string"},
            "example": f"/api/documents/{DOCUMENT_ID}",
        }
    },
    "links": {
        name: {"operationId": name, "parameters": {"document_id": "$response.body#/id"}}
        for name in ("getDocument", "getFile", "deleteDocument")
    },
}
"""What else the answer to an upload has."""
READY: Mapping[str, Any] = {
    "ready": True,
    "checks": [
        {"name": "postgres", "ok": True, "needed": True, "ms": 1, "facts": {"version": "18.6"}},
        {
            "name": "chat",
            "ok": True,
            "needed": True,
            "ms": 84,
            "facts": {"kind": "server", "model": "gpt-5.2"},
        },
        {
            "name": "embedding",
            "ok": True,
            "needed": False,
            "ms": 4,
            "facts": {"kind": "bundled", "model": "multilingual"},
        },
        {"name": "cache", "ok": False, "needed": False, "ms": 1, "facts": {}, "reason": "unavailable"},
    ],
}
NOT_READY: Mapping[str, Any] = {
    "ready": False,
    "checks": [
        {"name": "postgres", "ok": False, "needed": True, "ms": 2000, "facts": {}, "reason": "timeout"}
    ],
}
ALIVE = {"status": "alive", "version": "0.1.0"}
