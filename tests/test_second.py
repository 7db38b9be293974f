"""When there is a second stage."""

from contextlib import AsyncExitStack
from dataclasses import dataclass

import pytest

from app.models.rerank import HttpReranker, open_reranker
from app.settings import Chat, Rag, Rerank, Settings
from app.types import Query, Scope
from app.wiring import second
from tests.fakes.answering import FakeModel

URL = "http://127.0.0.1:9"
CHAT, REWRITE, RERANK = Chat(base_url=f"{URL}/v1"), Rag(rewrite=True), Rerank(url=URL)


@dataclass
class Parts:
    """What is looked at of `Opened`."""

    reranker: HttpReranker | None
    model: FakeModel


@pytest.mark.parametrize(
    ("settings", "key"),
    [
        pytest.param(Settings(), None, id="nothing set"),
        pytest.param(Settings(chat=CHAT), None, id="a model alone"),
        pytest.param(Settings(rag=REWRITE), None, id="extractive answers reword nothing"),
        pytest.param(Settings(rag=REWRITE, chat=CHAT), ["", ["fake 1", "before"]], id="rewording"),
        pytest.param(Settings(rerank=RERANK), [f"{URL}/rerank", []], id="rerank"),
        pytest.param(
            Settings(rerank=RERANK, rag=REWRITE, chat=CHAT),
            [f"{URL}/rerank", ["fake 1", "before"]],
            id="both",
        ),
    ],
)
async def test_there_is_one_where_the_settings_say_so(settings: Settings, key: list[object] | None) -> None:
    """And results depend on whose it is; on what was said before only where that is looked at."""
    query = Query("and then?", Scope(), before=("before",))
    async with AsyncExitStack() as held:
        parts = Parts(await held.enter_async_context(open_reranker(settings)), FakeModel())
        found = second(settings, parts)  # type: ignore[arg-type]  # two of its fields
        assert (found.key(query) if found else None) == key
