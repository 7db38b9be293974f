"""The script: what is sent, in order. A part has a service of its own, or one started again."""

from collections.abc import Mapping

from tests.golden.ask import Ask
from tests.golden.script import (
    chats,
    debug,
    documents,
    faults,
    memories,
    openai,
    opening,
    projects,
    users,
    vantage,
)

PARTS: Mapping[str, tuple[Ask, ...]] = {
    "open": opening.ASKS,
    "keys": (
        *documents.ASKS,
        *chats.ASKS,
        *faults.ASKS,
        *memories.ASKS,
        *projects.ASKS,
        *vantage.ASKS,
        *users.ASKS,
        *openai.ASKS,
    ),
    "debug": debug.ASKS,
}
