"""What fills projects, as wiring builds it."""

from types import SimpleNamespace
from typing import cast

import pytest

from app.breaker import Breaker
from app.db.conversations import ConversationDraft, SaidTurn
from app.db.pool import Pool
from app.db.projects import Knowledge
from app.errors import InvalidField, KeptElsewhere
from app.settings import Settings
from app.types import Scope
from app.wiring import Resources, conversation_service, knowledge_service
from tests.fakes.answering import FakeModel
from tests.fakes.keeping import FakeVectors

TALK = ConversationDraft(said=(SaidTurn("user", "The printer is on VLAN 30."),))
SAID = {"chat": {"base_url": "http://127.0.0.1:9/v1"}}


def parts(pool: Pool, model: FakeModel) -> Resources:
    found = SimpleNamespace(pool=pool, model=model, embedder=FakeVectors(), postgres=Breaker(lambda: 0.0))
    return cast(Resources, found)


@pytest.mark.parametrize("settings", [{}, SAID], ids=["no model", "a model"])
async def test_a_model_is_asked_where_there_is_one(pool: Pool, settings: dict[str, object]) -> None:
    """Else, and where it says nothing of use, a talk's own sentences are its summary."""
    model = FakeModel()
    service = conversation_service(Settings(_env_file=None, **settings), parts(pool, model))  # type: ignore[arg-type]

    [(row, _)] = await service.keep(Scope(project="THN"), "conversations", [TALK])

    assert row.summary_short == "The printer is on VLAN 30."
    assert len(model.prompts) == bool(settings)


async def test_dreams_are_the_profiles_to_say(pool: Pool) -> None:
    service = conversation_service(Settings(_env_file=None), parts(pool, FakeModel()))

    assert len(await service.keep(Scope(project="DAAS"), "dreams", [TALK])) == 1
    with pytest.raises(KeptElsewhere):
        await service.keep(Scope(project="THN"), "dreams", [TALK])


async def test_knowledge_is_kept(pool: Pool) -> None:
    service = knowledge_service(Settings(_env_file=None), parts(pool, FakeModel()))
    told = await service.put(Scope(project="THN"), Knowledge("Overview."))

    assert await service.get(Scope(project="THN")) == told


@pytest.mark.parametrize(("model", "words"), [("gpt-4o", 490), ("llama", 370)])
async def test_knowledge_may_take_a_quarter_of_the_window(pool: Pool, model: str, words: int) -> None:
    chat = {"context_tokens": 2_000, "model": model, "base_url": "http://127.0.0.1:9/v1"}
    service = knowledge_service(Settings(_env_file=None, chat=chat), parts(pool, FakeModel()))

    await service.put(Scope(project="THN"), Knowledge(rules="word " * words))
    with pytest.raises(InvalidField, match="may take 500"):
        await service.put(Scope(project="THN"), Knowledge(rules="word " * (words + 30)))
