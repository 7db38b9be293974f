"""A new service: no keys, debug as it is by default, Vantage off."""

from dataclasses import replace

from tests.golden.ask import chat, delete, get, post, put, rag, upload
from tests.golden.script.library import FERRY, GARDEN, HARBOUR

ASKS = tuple(
    replace(ask, key="")
    for ask in (
        get("open-healthz", "/healthz"),
        get("open-readyz", "/readyz"),
        get("open-page", "/"),
        get("open-docs", "/docs"),
        get("open-asset-missing", "/web/nothing.js"),
        get("open-unknown-path", "/api/nothing"),
        delete("open-wrong-method", "/api/chat"),
        get("open-vantage-off", "/vantage/policy"),
        get("open-host-foreign", "/api/documents", headers={"Host": "evil.example"}),
        get("open-origin-foreign", "/api/documents", headers={"Origin": "http://evil.example"}),
        get("open-forwarded", "/api/documents", headers={"X-Forwarded-For": "203.0.113.9"}),
        get("open-forwarded-standard", "/api/documents", headers={"Forwarded": "for=203.0.113.9"}),
        get("open-fetch-cross-site", "/api/documents", headers={"Sec-Fetch-Site": "cross-site"}),
        get("open-header-large", "/healthz", headers={"X-Padding": "a" * 100_000}),
        get("open-headers-many", "/healthz", headers={f"X-Field-{n}": "1" for n in range(300)}),
        get("open-request-id", "/api/sessions", headers={"X-Request-ID": "my-request-1"}),
        chat("open-chat-empty", "How many passengers does the ferry carry?"),
        chat("open-chat-small-talk", "hi"),
        chat("open-chat-thanks", "Thanks a lot!"),
        upload("open-ferry", "ferry.pdf", FERRY),
        upload("open-harbour", "harbour report.pdf", HARBOUR, scope="global"),
        upload("open-garden", "garden.pdf", GARDEN, session_id="plants"),
        chat("open-chat", "How many passengers does the ferry carry?", thread_id="one", save="open_answer"),
        chat("open-chat-stream", "When is the oil of the engines changed?", stream=True),
        chat("open-chat-two", "What do the crane and the dredging of the basin cost?"),
        # Where no model answers, sentences are compared by meaning for 0.15 s, then by words alone: on a busy
        # machine the two below would differ by chance.
        chat("open-chat-follow-up", "And how many life rafts are there?", thread_id="one", only="stub"),
        chat("open-chat-no-match", "What is the boiling point of ethanol at sea level?", only="stub"),
        chat("open-chat-short", "Captain?"),
        get("open-answer", "/answers/{open_answer}"),
        post("open-replay", "/answers/{open_answer}/replay"),
        post(
            "open-memory",
            "/memories",
            {
                "user_id": "ada",
                "text": "My optician is Dr. Lindqvist in Mill Lane.",
                "created_at": "2026-05-07T08:00:00Z",
            },
            save={"open_memory": "memory.id"},
        ),
        rag("open-rag", "Who is my optician?"),
        rag("open-rag-greeting", "hey again!"),
        put("open-knowledge", "/projects/THN/knowledge", {"overview": "The network at home."}),
        chat("open-project", "Which network is it?", project="THN"),
        get("open-key-unknown", "/api/sessions", headers={"Authorization": "Bearer ibid_x_y"}),
        delete("open-erase", "/users/ada"),
        rag("open-rag-erased", "Who is my optician?"),
    )
)
