"""What OpenAPI shows of the past as examples: an answer's trace, sessions, turns. The story of `examples.py`:
a session `thesis` that holds `report.pdf`. A test holds them against the schemas.
"""

from collections.abc import Mapping
from typing import Any

from app.api.examples import ANSWER_ID, CHAT, CITATION, DOCUMENT_ID, MARKS, NOTES, RAG, USAGE

QUESTION = CHAT["ask"]["value"]["message"]
SAID = "Revenue rose to $4.2 billion [report.pdf#3]."
TURN_SHA256 = "ef2d127de37b942baad06145e54b0c619a1f22327b2ebbcfbec78f5564afe39d"

ANSWER: Mapping[str, Any] = {
    "answer_id": ANSWER_ID,
    "endpoint": "/api/chat",
    "question": "And the year before?",
    "answer": "It was $3.8 billion [report.pdf#3].",
    "model": "gpt-5.2",
    "created_at": "2026-11-21T09:31:08.125Z",
    "finish_reason": "stop",
    "citations": [CITATION],
    "cited": MARKS["cited"],
    "unknown": [],
    "appended": False,
    "usage": USAGE,
    "timings": {"retrieval": 18, "total": 912},
    "prompt_sha256": "9f2c1f6e0f3f6f0f5d9c3f1f2f0c4b8a7e6d5c4b3a29181716151413121110ff",
    "rag": RAG,
    "notes": [*NOTES, f'Searched with "{QUESTION} And the year before?"'],
    "degraded": [],
    "searched": f"{QUESTION} And the year before?",
    "sources": {"documents": "exact"},
    "candidates": [
        {
            "source": "documents",
            "id": f"{DOCUMENT_ID}:3",
            "label": "report.pdf#3",
            "similarity": 0.61,
            "score": 0.97,
            "relevance": None,
            "boosts": {},
            "verdict": "packed",
            "sha256": "5feceb66ffc86f38d952786c6d696c79c2dbc239dd4e91b46729d73a27fb57e9",
            "created_at": "2026-11-20T16:05:00Z",
            "vouched": True,
        },
        {
            "source": "documents",
            "id": f"{DOCUMENT_ID}:41",
            "label": "report.pdf#41",
            "similarity": 0.14,
            "score": 0.2,
            "relevance": None,
            "boosts": {},
            "verdict": "below_threshold",
            "sha256": "6b86b273ff34fce19d6b804eff5a3f5747ada4eaa22f1d49c01e52ddb7875b4b",
            "created_at": "2026-11-20T16:05:00Z",
            "vouched": False,
        },
    ],
    "recipe": {
        "form": "documents",
        "system": {
            "kind": "instructions",
            "name": "documents",
            "sha256": "4e07408562bedb8b60ce05c1decfe3ad16b72230967de01f640b7e4729b49fce",
            "refs": [],
        },
        "before": [],
        "notes": [],
        "turns": [
            {
                "kind": "turn",
                "name": "user",
                "sha256": TURN_SHA256,
                "refs": [{"source": "chat_log", "id": "41", "sha256": TURN_SHA256}],
            }
        ],
        "ranking": 3,
        "project": None,
    },
    "ruling": None,
}
REPLAY: Mapping[str, Any] = {
    "answer_id": ANSWER_ID,
    "identical": False,
    "changes": [{"what": "source report.pdf#3", "before": ANSWER["candidates"][0]["sha256"], "after": None}],
    "prompt_sha256": {
        "before": ANSWER["prompt_sha256"],
        "after": "4b227777d4dd1fc61c6f884f48641d02b4d121d3fd328cb08b5531fcacdabf8a",
    },
}
SESSION: Mapping[str, Any] = {
    "session_id": "thesis",
    "documents": 1,
    "turns": 2,
    "created_at": "2026-11-21T09:30:00Z",
    "last_active_at": "2026-11-21T09:30:41.25Z",
}
NEXT = "MTc5MDAwMDAwMDAwMDAwMHx0aGVzaXM"
SESSIONS: Mapping[str, Any] = {"items": [SESSION], "next": NEXT}
TURNS: Mapping[str, Any] = {
    "items": [
        {
            "thread_id": "thesis",
            "role": "user",
            "content": QUESTION,
            "at": "2026-11-21T09:30:40.5Z",
            "answer_id": ANSWER_ID,
        },
        {
            "thread_id": "thesis",
            "role": "assistant",
            "content": SAID,
            "at": "2026-11-21T09:30:41.25Z",
            "answer_id": ANSWER_ID,
        },
    ],
    "next": NEXT,
}
