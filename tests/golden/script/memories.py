"""Memories, votes, reference texts, /rag/query and its feedback, profiles."""

from typing import Any

from tests.golden.ask import Ask, delete, get, patch, post, rag

NIL = "0192f0c0-0000-7000-8000-000000000000"
ADA = (
    ("dentist", "My dentist is Dr. Okafor in Harlow Street.", "note", "2026-05-07T08:00:00Z"),
    ("allergy", "I am allergic to walnuts and carry a syringe.", "note", "2026-06-01T10:30:00+02:00"),
    ("bike", "My bicycle is a green Pashley, bought in Osterby.", "note", "{days_ago_45}"),
    ("choir", "The choir rehearses on Wednesdays at seven.", "note", "{days_ago_3}"),
    ("workout", "My workout plan has squats on Monday.", "note", "{days_ago_10}"),
    ("bees", "I keep bees behind the house.", "note", "2026-01-05T00:00:00Z"),
    ("key", "The key of the cellar hangs behind the clock.", "note", "2026-01-07T00:00:00Z"),
    ("style", "I prefer short answers in plain words.", "preference", "2026-04-02T12:00:00Z"),
    ("persona", "I am a nurse who works at night.", "persona", "2026-04-01T12:00:00Z"),
)


CLEO = (
    ("rowing", "I row on the lake every Thursday.", "note", "{days_ago_3}"),
    ("kayak", "My kayak is red and leaks at the stern.", "note", "{days_ago_10}"),
    ("lists", "I like my training plan as a short list.", "note", "{days_ago_45}"),
)
"""Of another user: what is voted on, and profiled, changes nobody else's answers."""


def memory(name: str, text: str, kind: str, at: str, **more: Any) -> Ask:
    """POST /memories for ada; its id is kept under the name."""
    body = {"user_id": "ada", "text": text, "kind": kind, "created_at": at}
    return post(f"memory-{name}", "/memories", body | more, save={name: "memory.id"})


def odd(name: str, **fields: Any) -> Ask:
    """POST /memories with one field that is not as it should be."""
    return post(f"memory-odd-{name}", "/memories", {"user_id": "ada", "text": "A text."} | fields)


def feedback(name: str, message: str, **fields: Any) -> Ask:
    """POST /rag/feedback for cleo."""
    key = fields.pop("key", "home")
    return post(f"feedback-{name}", "/rag/feedback", {"user_id": "cleo", "message": message} | fields, key)


def vote(name: str, signal: Any, memory_id: str = "{kayak}", **fields: Any) -> Ask:
    """POST /memory_feedback for cleo."""
    key = fields.pop("key", "home")
    body = {"user_id": "cleo", "memory_id": memory_id, "signal": signal} | fields
    return post(f"vote-{name}", "/memory_feedback", body, key)


ASKS = (
    *(memory(*row) for row in ADA),
    *(memory(*row, user_id="cleo") for row in CLEO),
    memory(
        "tagged",
        "The spare key lies under the blue pot.",
        "note",
        "2026-03-01T00:00:00Z",
        tags=["house"],
        origin="journal",
    ),
    memory("again", "My dentist is  Dr. OKAFOR in Harlow Street.", "note", "2026-05-08T08:00:00Z"),
    post(
        "memory-several",
        "/memories",
        [
            {"user_id": "ben", "text": "My cat is called Pixel.", "created_at": "2026-02-01T09:00:00Z"},
            {"user_id": "ben", "text": "I sail a dinghy named Petrel.", "created_at": "2026-02-02T09:00:00Z"},
        ],
        save={"cat": "items.0.memory.id", "dinghy": "items.1.memory.id"},
    ),
    post(
        "memory-user-key",
        "/memories",
        {"text": "My umbrella is striped.", "created_at": "2026-01-06T00:00:00Z"},
        "ada",
    ),
    post(
        "memory-zeta",
        "/memories",
        {"user_id": "ada", "text": "My dentist is Dr. Zeta.", "created_at": "2026-01-01T00:00:00Z"},
        "zeta",
        save={"zeta_memory": "memory.id"},
    ),
    post(
        "memory-now",
        "/memories",
        {"user_id": "ben", "text": "The train to Varnholm leaves from platform nine."},
    ),
    post("memory-nobody", "/memories", {"text": "Whose is it?"}),
    post(
        "memory-two-users",
        "/memories",
        [{"user_id": "ada", "text": "One."}, {"user_id": "ben", "text": "Two."}],
    ),
    odd("blank", text="  "),
    odd("kind-derived", kind="gravity_profile"),
    odd("time-future", created_at="2999-01-01T00:00:00Z"),
    odd("time-naive", created_at="2026-05-07T08:00:00"),
    odd("unknown-field", colour="red"),
    get("memories", "/memories?user_id=ada"),
    get("memories-page", "/memories?user_id=ada&limit=3", save={"memories_next": "next"}),
    get("memories-page-2", "/memories?user_id=ada&limit=3&cursor={memories_next}"),
    get("memories-nobody", "/memories"),
    get("memories-user-key", "/memories", "ada"),
    get("memories-unknown-parameter", "/memories?user_id=ada&kind=note"),
    get("memory-one", "/memories/{dentist}"),
    get("memory-one-foreign", "/memories/{zeta_memory}"),
    get("memory-one-unknown", f"/memories/{NIL}"),
    patch("memory-one-change", f"/memories/{NIL}", {"tags": ["home"]}),
    # Reference texts.
    post(
        "corpus",
        "/corpus/recipes",
        {
            "texts": [
                {
                    "id": "bread",
                    "title": "Bread",
                    "text": "Knead the dough well, then let it rest for an hour.",
                    "metadata": {"kind": "recipe", "url": "https://example.org/bread", "servings": 4},
                },
                {
                    "id": "soup",
                    "title": "Walnut soup",
                    "text": "Roast the walnuts and simmer them in milk with thyme.",
                },
                "Eggs are boiled for seven minutes.",
            ]
        },
        save={"egg_text": "items.2.id"},
    ),
    post(
        "corpus-replace",
        "/corpus/recipes",
        {
            "texts": [
                {
                    "id": "bread",
                    "title": "Bread",
                    "text": "Knead the dough well, then let it rest for two hours.",
                    "metadata": {"kind": "recipe", "url": "https://example.org/bread"},
                }
            ]
        },
    ),
    post(
        "corpus-sleep",
        "/corpus/sleep",
        {"texts": ["Light in the evening delays sleep.", "Keep the hours of going to bed and of rising."]},
    ),
    post("corpus-doomed", "/corpus/doomed", {"texts": ["This text goes with its collection."]}),
    post("corpus-zeta", "/corpus/recipes", {"texts": ["Zeta bakes bread with rye."]}, "zeta"),
    post("corpus-user-key", "/corpus/recipes", {"texts": ["Mine."]}, "ada"),
    post("corpus-reserved", "/corpus/memory_raw", {"texts": ["Text."]}),
    post("corpus-blank", "/corpus/recipes", {"texts": ["  "]}),
    get("collections", "/corpus"),
    get("corpus-texts", "/corpus/recipes"),
    get("corpus-texts-none", "/corpus/nothing"),
    # Asking what is remembered.
    rag("rag", "Who is my dentist?", save="rag_answer"),
    rag("rag-repeated", "Who is my dentist?"),
    rag("rag-stream", "When does the choir rehearse?", stream=True),
    rag("rag-corpus", "How long does the dough rest?", save="rag_bread"),
    rag("rag-both", "Can I eat the walnut soup?", thread_id="soup"),
    rag("rag-follow-up", "And why not?", thread_id="soup"),
    rag("rag-greeting", "hey again!"),
    rag("rag-thanks", "thanks"),
    rag("rag-no-match", "What is the capital of Mongolia?"),
    rag("rag-instructions", "Give me my workout plan as a list", overlay="Speak like a sailor."),
    rag(
        "rag-overlay",
        "When does the choir rehearse?",
        overlay={
            "role": "a coach",
            "tone": "warm",
            "format": "one line",
            "instructions": "End with a question.",
        },
    ),
    rag("rag-top-1", "What do you know about my bicycle and the choir?", top_k=1),
    rag("rag-top-many", "What about the choir?", top_k=51),
    rag("rag-remember", "I have moved to Lindgren Alley.", remember=True),
    rag("rag-remembered", "Where have I moved to?"),
    rag("rag-remember-echo", "My dentist is Dr. Okafor in Harlow Street.", remember=True),
    rag("rag-user-key", "What do I keep?", user_id="ada", key="ada"),
    rag("rag-user-key-other", "Where is my cat?", user_id="ben", key="ada"),
    post("rag-user-key-alone", "/rag/query", {"message": "What do I keep?"}, "ada"),
    rag("rag-ben", "What is the name of my cat?", user_id="ben"),
    rag("rag-zeta", "Who is my dentist?", key="zeta"),
    rag(
        "rag-cites",
        "Who is my dentist?",
        says="Dr. Okafor [memory#aaaaaaaa] of Harlow Street [recipes#bbbbbbbb].",
    ),
    # What it was worth.
    rag(
        "rag-cleo", "On which day do I row on the lake?", user_id="cleo", thread_id="lake", save="cleo_answer"
    ),
    rag(
        "rag-cleo-corpus",
        "How long does the dough rest?",
        user_id="cleo",
        thread_id="oven",
        save="cleo_bread",
    ),
    feedback("last", "Exactly, thank you!", thread_id="lake"),
    feedback("answer", "That is wrong.", answer_id="{cleo_answer}"),
    feedback("change-of-mind", "Perfect!", answer_id="{cleo_answer}"),
    feedback("rating-up", "So so.", answer_id="{cleo_answer}", rating="up"),
    feedback("judged-positive", "It went better with it than I feared", answer_id="{cleo_answer}"),
    feedback("judged-negative", "It went worse with it than I feared", answer_id="{cleo_answer}"),
    feedback("neutral", "It is about a chair.", answer_id="{cleo_answer}"),
    feedback("corpus-answer", "As a list, please", answer_id="{cleo_bread}"),
    feedback("unknown", "Thanks!", answer_id=NIL),
    feedback("zeta", "Thanks!", answer_id="{cleo_answer}", key="zeta"),
    feedback("user-key-other", "Thanks!", user_id="ben", key="ada"),
    # Votes.
    vote("up", 1),
    vote("up-again", 1),
    vote("down", -1),
    vote("withdrawn", 0),
    vote("answer", 1, answer_id="{cleo_answer}"),
    vote("answer-down", -1, answer_id="{cleo_answer}"),
    vote("true", True),
    vote("unknown-memory", 1, NIL),
    vote("other-users-memory", 1, "{cat}"),
    vote("zeta", 1, key="zeta"),
    vote("user-key", 1, "{bees}", key="ada", user_id="ada"),
    post("vote-user-key-alone", "/memory_feedback", {"memory_id": "{bees}", "signal": 1}, "ada"),
    get("votes", "/memory_feedback?user_id=cleo&ids={rowing},{kayak},{cat}"),
    get("votes-nobody", "/memory_feedback?ids={bees}", "ada"),
    get("votes-zeta", "/memory_feedback?user_id=cleo&ids={kayak}", "zeta"),
    rag("rag-after-votes", "On which day do I row, and is my kayak red?", user_id="cleo"),
    # When somebody was here.
    get("temporal", "/temporal/ada"),
    get("temporal-new", "/temporal/nobody-yet"),
    get("temporal-zeta", "/temporal/ada", "zeta"),
    # Profiles.
    post("profiles", "/profiles", {"user_id": "cleo"}),
    post("profiles-other-tenant", "/profiles", {"user_id": "cleo", "tenant": "zeta"}),
    get("profiles-memories", "/memories?user_id=cleo&limit=4"),
    rag("rag-after-profiles", "Give me my training plan as a list", user_id="cleo"),
    # Deleting.
    delete("memory-delete-zeta", "/memories/{bike}", "zeta"),
    delete("memory-delete-unknown-parameter", "/memories/{key}?user_id=ada"),
    delete("memory-delete-key", "/memories/{key}"),
    delete("memory-delete", "/memories/{bike}"),
    rag("rag-after-delete", "What colour is my bicycle?"),
    delete("text-delete", "/corpus/recipes/soup"),
    delete("collection-delete", "/corpus/sleep"),
    delete("collection-delete-unknown-parameter", "/corpus/doomed?id=bread"),
    delete("collection-delete-doomed", "/corpus/doomed"),
)
