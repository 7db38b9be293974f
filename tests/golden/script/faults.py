"""A chat model that fails: before its first word, and after it."""

from tests.fakes.model import Fault
from tests.golden.ask import Ask, chat, get, rag

QUESTION = "When is the oil of the engines changed?"
FAULTS = {
    "401": Fault(status=401),
    "404": Fault(status=404),
    "400": Fault(status=400),
    "429": Fault(status=429, retry_after="7"),
    "429-silent": Fault(status=429),
    "500": Fault(status=500),
    "html": Fault(garbage=True),
    "cut-first": Fault(close_after=0),
    "cut": Fault(close_after=4),
    "error": Fault(error_after=4),
    "garbage": Fault(garbage_after=4),
    "unfinished": Fault(unfinished=True),
    "no-usage": Fault(usage=False),
}


def asked(kind: str, *, stream: bool) -> Ask:
    """A question to a model with this fault, in a thread of its own."""
    name = f"fault-{kind}{'-stream' if stream else ''}"
    return chat(name, QUESTION, stream=stream, fault=FAULTS[kind], thread_id=name)


ASKS = (
    *(asked(kind, stream=False) for kind in FAULTS),
    *(
        asked(kind, stream=True)
        for kind in ("401", "429", "cut-first", "error", "garbage", "unfinished", "cut")
    ),
    # The first edition wrote the turns of a broken answer some time after its last event.
    get(
        "fault-turns-cut",
        "/api/sessions/boat/turns?thread_id=fault-cut-stream",
        until=("items.1.role", "assistant"),
    ),
    get("fault-turns-500", "/api/sessions/boat/turns?thread_id=fault-500"),
    chat("fault-after", "And the filters?", thread_id="fault-cut-stream"),
    rag("fault-rag-401", "What do I know about ships?", fault=FAULTS["401"]),
    rag("fault-rag-429", "What do I know about ships?", fault=FAULTS["429"]),
    rag("fault-rag-cut-stream", "What do I know about ships?", fault=FAULTS["cut"], stream=True),
)
