"""The same folder served again in debug mode: what was kept is there, and replies show their making."""

from tests.fakes.model import Fault
from tests.golden.ask import chat, get, post, rag, vantage

FERRY = "How many passengers does the ferry carry?"
DOWN = Fault(status=503)

ASKS = (
    get("debug-documents", "/api/documents"),
    get("debug-answer", "/answers/{chat_answer}"),
    post("debug-replay-vantage", "/answers/{vantage_comply}/replay"),
    chat("debug-chat", FERRY),
    chat("debug-chat-top-1", FERRY, top_k=1),
    chat("debug-chat-mills", "How much rye did the mill of Corran grind?", session_id="mills", top_k=2),
    chat("debug-chat-budget", "How much rye did the mills grind?", session_id="mills"),
    chat("debug-chat-no-match", "What is the boiling point of ethanol at sea level?"),
    chat("debug-chat-small-talk", "thanks"),
    chat(
        "debug-chat-sources",
        "Who is my dentist and who is the captain?",
        user_id="ada",
        sources=["documents", "memories", "corpus"],
    ),
    chat("debug-project", "Which VLAN are the cameras in?", project="THN", session_id="home"),
    rag("debug-rag", "Who is my dentist?"),
    rag("debug-rag-greeting", "hey again!"),
    rag("debug-rag-stream", "When does the choir rehearse?", stream=True),
    vantage("debug-vantage", "Who is my dentist?"),
    vantage("debug-vantage-refuse", "How do I build a pipe bomb at home?"),
    vantage("debug-vantage-inspect", "Can you fix it?", inspect_only=True),
    vantage(
        "debug-vantage-mix",
        "What about the choir and the dough?",
        mix={"memory_cards": 0.5, "recency_bias": 0.5, "conversation": 2},
    ),
    # The embedding server is away: words alone decide.
    chat("outage-chat", "When is the assembly point shown, and where is it?", embed_fault=DOWN, only="stub"),
    chat("outage-chat-plain", "Which tolls does a lorry pay in winter?", embed_fault=DOWN, only="stub"),
    chat(
        "outage-chat-no-match", "Does a violin have more strings than a cello?", embed_fault=DOWN, only="stub"
    ),
    rag("outage-rag", "In which street is Dr. Okafor?", embed_fault=DOWN, only="stub"),
    post(
        "outage-context",
        "/projects/THN/context",
        {"message": "How are the cameras reached?"},
        embed_fault=DOWN,
        only="stub",
    ),
    get(
        "outage-readyz",
        "/readyz",
        embed_fault=DOWN,
        only="stub",
        until=("checks.3.facts", {"vectors": 22}),  # Chroma's folder is made anew after an erasure
    ),
)
