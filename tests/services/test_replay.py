"""An answer looked up, and its prompt put together again: for whom, of what, and what happens when a
store is away."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

import pytest

from app.answer import Kind, Turn, recipe_block, sha256
from app.answering import ruling
from app.answering.prompt import lens_block
from app.answering.recorder import AnswerRecord, Recorder
from app.answering.replay import Difference, Today, rebuilt
from app.db.cards import Card
from app.db.memories import Memory
from app.errors import Missing, Unavailable
from app.retrieval.originals import OriginalStore
from app.retrieval.search import RANKING_VERSION
from app.services import answers
from app.services import replay as replay_
from app.services.answers import AnswerService
from app.services.replay import ReplayService
from app.types import Entry, Passage, Scope
from app.vantage.policy import policy
from app.vantage.terms import Limits, ResponseClass, Routing
from app.vantage.weigh import weigh
from tests.answering.test_replay import ANSWER, FACT, RECIPE, TODAY
from tests.answering.test_stream import kept
from tests.fakes.answering import FakeLog, Words
from tests.fakes.projecting import FakeKnowledge
from tests.fakes.services import FakeCards

HERE = Scope(tenant="acme", user_id="ann", thread_id="t")
SEEN = replace(ANSWER, recipe=replace(RECIPE, ranking=RANKING_VERSION))


@dataclass
class FakeOriginals(OriginalStore):
    today: Today = TODAY
    hang: float = 0
    error: Exception | None = None
    asked: list[object] = field(default_factory=list)

    async def passages(self, scope: Scope, entries: Sequence[Entry]) -> dict[tuple[str, str], Passage]:
        self.asked += [scope, [entry.id for entry in entries]]
        await asyncio.sleep(self.hang)
        if self.error:
            raise self.error
        return dict(self.today.passages)

    async def cards(self, scope: Scope, ids: Sequence[str]) -> dict[str, Memory]:
        self.asked += [scope, ids]
        return {key: self.today.cards[key] for key in ids if key in self.today.cards}

    async def turns(self, scope: Scope, ids: Sequence[str]) -> dict[str, Turn]:
        self.asked += [scope, ids]
        return {key: self.today.turns[key] for key in ids if key in self.today.turns}

    async def said(self, scope: Scope, hashes: Sequence[str]) -> dict[str, str]:
        self.asked += [scope, hashes]
        return dict(self.today.said)


class Notices(FakeCards):
    async def by_id(self, scope: Scope, ids: Sequence[str]) -> dict[str, Card]:
        return {FACT.id: FACT}


def service(
    originals: FakeOriginals | None = None,
    log: FakeLog | None = None,
    knowledge: FakeKnowledge | None = None,
) -> ReplayService:
    log = log or FakeLog(answers=[SEEN])
    answers, known = AnswerService(log, Recorder(log)), knowledge or FakeKnowledge()
    return ReplayService(answers, originals or FakeOriginals(), Notices(), known, Words().count)


def bare(**changes: object) -> FakeLog:
    """A log with an answer whose policy blocks are left out: it was never weighed."""
    kinds = (Kind.POLICY, Kind.LENS)
    before = tuple(item for item in RECIPE.before if item.kind not in kinds)
    plain = replace(SEEN, recipe=replace(RECIPE, before=before, ranking=RANKING_VERSION))
    sha = rebuilt(plain, plain.recipe or RECIPE, TODAY).sha256()
    return FakeLog(answers=[replace(plain, prompt_sha256=sha, **changes)])  # type: ignore[arg-type] # its fields


async def test_what_has_not_changed_is_identical() -> None:
    """All that it was made of is asked for once, in the scope of the asker."""
    originals = FakeOriginals()
    found = await service(originals, bare()).replay(HERE, "a")
    assert (found.identical, found.changes) == (True, ())
    assert originals.asked == [HERE, ["m1"], HERE, ["c1", "c2", "c3"], HERE, ["7", "8", "7"]]


async def test_it_is_looked_up_where_it_was_asked() -> None:
    """Also for another key that may see it: a session's documents are that session's."""

    class Placed(FakeLog):
        async def asked(self, scope: Scope, answer_id: str) -> Scope | None:
            return replace(scope, session_id="s", owner="ann")

    originals = FakeOriginals()
    log = Placed(answers=bare().answers)
    await service(originals, log).replay(HERE, "a")
    assert originals.asked[0] == replace(HERE, session_id="s", owner="ann")


async def test_an_answer_without_a_recipe_cannot_be_put_together() -> None:
    """An older version kept it, or its asker left before there was a prompt: each is told."""
    for sha, why in (("ab", "not kept"), ("", "not asked")):
        old = replace(SEEN, recipe=None, prompt_sha256=sha)
        found = await service(log=FakeLog(answers=[old])).replay(HERE, "a")
        assert (found.identical, found.before, found.after) == (False, sha, None)
        assert found.changes == (Difference("recipe", None, why),)


async def test_a_turn_of_which_no_word_was_kept_cannot_be_compared() -> None:
    """Neither identical nor another: there is no second hash. Unless the thread has its words."""
    log = bare()
    kept = log.answers[0]
    assert kept.recipe is not None
    lost = replace(kept.recipe.turns[1], text="")
    log.answers[0] = replace(kept, recipe=replace(kept.recipe, turns=(kept.recipe.turns[0], lost)))
    originals = FakeOriginals()
    found = await service(originals, log).replay(HERE, "a")
    assert (found.identical, found.after) == (False, None)
    assert found.changes == (Difference("turn assistant", sha256("ok"), "not kept"),)
    assert originals.asked[-2:] == [HERE, [sha256("ok")]]
    there = FakeOriginals(replace(TODAY, said={sha256("ok"): "ok"}))
    assert (await service(there, log).replay(HERE, "a")).identical


async def test_another_ranking_is_told() -> None:
    log = bare()
    kept = log.answers[0]
    assert kept.recipe is not None
    log.answers[0] = replace(kept, recipe=replace(kept.recipe, ranking=1))
    found = await service(log=log).replay(HERE, "a")
    assert (found.identical, found.changes) == (False, (Difference("ranking", 1, RANKING_VERSION),))
    assert found.before == found.after


async def test_a_store_that_is_away_is_no_erasure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(replay_, "REPLAY_SECONDS", 0.05)
    for originals in (FakeOriginals(error=Unavailable("down")), FakeOriginals(hang=30)):
        with pytest.raises(Unavailable):
            await service(originals).replay(HERE, "a")


WEIGHED = weigh(ANSWER.question, ("hello",), "Rhyme.", Limits(token_target=90), Routing())
RULING = ruling.Ruling(
    WEIGHED.sd,
    WEIGHED.params,
    WEIGHED.decision,
    limits=Limits(token_target=90),
    policy_sha256=str(policy()["sha256"]),
)


def ruled(kept: ruling.Ruling = RULING, lens: str = "plain") -> FakeLog:
    """A log with an answer of /vantage: its policy block is that of the policy as it stands."""
    policed = {
        Kind.POLICY: recipe_block(Kind.POLICY, WEIGHED.overlay_text),
        Kind.LENS: recipe_block(Kind.LENS, lens_block("plain"), name=lens),
    }
    recipe = replace(RECIPE, before=tuple(policed.get(item.kind, item) for item in RECIPE.before))
    texts = {Kind.POLICY: WEIGHED.overlay_text, Kind.LENS: lens_block("plain")}
    sha = rebuilt(ANSWER, recipe, replace(TODAY, texts=texts)).sha256()
    made = replace(ANSWER, recipe=replace(recipe, ranking=RANKING_VERSION), prompt_sha256=sha)
    return FakeLog(answers=[replace(made, ruling=ruling.written(kept))])


async def test_the_policy_is_asked_again() -> None:
    """With what it was asked then: message, thread, overlay and limits."""
    found = await service(log=ruled()).replay(HERE, "a")
    assert (found.identical, found.changes) == (True, ())


async def test_another_policy_is_told_and_what_it_would_decide() -> None:
    """Its version, its hash, and the class where it would be another."""
    decision = replace(WEIGHED.decision, policy_version="0.old", response_class=ResponseClass.REDIRECT)
    older = replace(RULING, decision=decision, policy_sha256="00")
    found = await service(log=ruled(older)).replay(HERE, "a")
    assert not found.identical
    assert found.changes == (
        Difference("policy", "0.old", WEIGHED.decision.policy_version),
        Difference("policy_sha256", "00", str(policy()["sha256"])),
        Difference("response_class", "REDIRECT", str(WEIGHED.decision.response_class)),
    )


ADA = Scope(owner="ada")


class Away(FakeLog):
    async def get(self, scope: Scope, answer_id: str) -> None:
        raise Unavailable

    async def removed(self, scope: Scope, since: datetime) -> bool:
        raise Unavailable


async def test_one_that_waits_is_found_too() -> None:
    """Also while the store is away; for who asked it, and nobody else."""
    log = Away()
    recorder = Recorder(log)
    recorder.later(replace(kept(), scope=ADA))
    service = AnswerService(log, recorder)
    assert (await service.get(ADA, "a")).id == "a"
    for stranger in (Scope(owner="bob", user_id="bob"), Scope(user_id="bob"), replace(ADA, tenant="other")):
        with pytest.raises(Unavailable):
            await service.get(stranger, "a")


async def test_one_that_waits_is_shown_while_the_store_is_silent(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody can say then that its session was removed; and it is not waited for long."""
    monkeypatch.setattr(answers, "ASKING_SECONDS", 0.05)
    log = FakeLog(hang=30)
    recorder = Recorder(log)
    recorder.later(replace(kept(), scope=ADA))
    async with asyncio.timeout(5):
        assert (await AnswerService(log, recorder).get(ADA, "a")).id == "a"


def said(key: str, scope: Scope, text: str = "Yes.") -> AnswerRecord:
    found = kept(key)
    return replace(found, scope=scope, answer=replace(found.answer, text=text))


async def test_the_last_may_wait() -> None:
    """Whichever is the newer, of that user and thread, the stored one or the one that waits."""
    log, ada = FakeLog(), replace(ADA, user_id="ada", thread_id="t")
    recorder = Recorder(log)
    service = AnswerService(log, recorder)
    with pytest.raises(Missing):
        await service.last(ada)
    await log.keep(ada, kept("b").answer)
    recorder.later(said("a", ada))
    assert (await service.last(ada)).id == "b"
    recorder.later(said("c", ada))
    assert (await service.last(ada)).id == "c"
    recorder.later(said("d", ada, text=""))
    for stranger in (replace(ada, user_id="bob"), replace(ada, thread_id="u"), replace(ada, owner="")):
        recorder.later(said("e", stranger))
    assert (await service.last(ada)).id == "c"


async def test_one_that_waits_is_of_its_user() -> None:
    """Whichever key asked, and whichever looks; a key that acts for all and names nobody sees it too."""
    named, own = Scope(user_id="ada"), Scope(owner="ada", user_id="ada")
    for asked in (named, own):
        log = FakeLog()
        recorder = Recorder(log)
        recorder.later(said("a", asked))
        service = AnswerService(log, recorder)
        assert [(await service.get(asker, "a")).id for asker in (Scope(), named, own)] == ["a"] * 3
        for stranger in (Scope(user_id="bob"), Scope(owner="bob", user_id="bob"), replace(own, tenant="b")):
            with pytest.raises(Missing):
                await service.get(stranger, "a")
