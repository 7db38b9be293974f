"""What answers were made of, looked up by id: of Ibid's own and of older tools, for the right asker."""

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from app.answer import Role, Turn, sha256
from app.db.documents import DocumentStore
from app.db.memories import RAW
from app.db.pool import Pool
from app.errors import RetrievalError, Unavailable
from app.retrieval.index_cache import IndexCache
from app.retrieval.originals import OriginalStore
from app.retrieval.retrievers.points import Collection, Point
from app.retrieval.retrievers.qdrant import MARK, QdrantProcess
from app.types import Entry, Scope, Verdict
from app.wiring import open_project_sources
from tests.fakes.filing import SPACE, bag
from tests.fakes.qdrant import QdrantThread
from tests.fakes.recollections import ANN, enter, memory, named, withdraw
from tests.fakes.records import CONVERSATION, conversation, insert, tell
from tests.fakes.uploads import ALICE, TENANT, ready, upload

TEXTS = """
    INSERT INTO ibid.corpus_text (tenant, collection, id, point, text, metadata, tokens, space, embedding)
    VALUES ('default', 'rivers', $1, $1, $2, $3, 1, 'bag@32', '[1]')
"""
GONE = "DELETE FROM ibid.memory WHERE id = $1"
ERASING = "UPDATE ibid.memory_user SET erased_at = now(), ended_at = NULL"


@pytest.fixture
async def edge(drive: Path) -> AsyncIterator[QdrantProcess]:
    async with QdrantThread(drive) as opened:
        yield opened


@pytest.fixture
async def originals(pool: Pool, edge: QdrantProcess) -> OriginalStore:
    return OriginalStore(pool, edge)


def line(source: str, key: str, label: str = "x#1") -> Entry:
    return Entry(source, key, label, 0.5, 0.5, Verdict.PACKED)


async def texts(originals: OriginalStore, scope: Scope, *entries: Entry) -> dict[str, str]:
    return {
        key: passage.text for (_, key), passage in (await originals.passages(scope, list(entries))).items()
    }


async def plant(edge: QdrantProcess, collection: str, key: str, **payload: object) -> str:
    if collection not in {shape.name for shape in await edge.collections()}:
        await edge.create(collection, SPACE.dim)
    await edge.put(collection, [Point(key, payload, bag("words"))])
    return key


STRANGERS = [
    pytest.param(replace(ALICE, tenant="other"), id="another tenant"),
    pytest.param(replace(ALICE, owner="bob"), id="another owner"),
    pytest.param(replace(ALICE, session_id="s2"), id="another session"),
    pytest.param(replace(ALICE, session_id=None), id="no session"),
]


async def test_a_document_s_passages_are_found_by_id(
    pool: Pool, originals: OriginalStore, tmp_path: Path
) -> None:
    """Those of the session and the shared ones; what is out of range is not there."""
    own = await ready(pool, ALICE, upload(tmp_path, "1"))
    shared = await ready(pool, TENANT, upload(tmp_path, "2", session_id=None), "three\nfour")
    entries = [
        line("documents", f"{document.id}:{n}", f"none.pdf#{n}") for document in (own, shared) for n in (2, 9)
    ]
    assert await texts(originals, ALICE, *entries) == {f"{own.id}:2": "two", f"{shared.id}:2": "four"}


@pytest.mark.parametrize("stranger", STRANGERS)
async def test_another_s_document_is_not_there(
    pool: Pool, originals: OriginalStore, tmp_path: Path, stranger: Scope
) -> None:
    own = await ready(pool, ALICE, upload(tmp_path))
    assert await texts(originals, stranger, line("documents", f"{own.id}:1", "report.pdf#1")) == {}


async def test_a_document_that_was_replaced_is_found_by_its_label(
    pool: Pool, originals: OriginalStore, tmp_path: Path
) -> None:
    old = await ready(pool, ALICE, upload(tmp_path, "1"))
    entries = [line("documents", f"{old.id}:{n}", f"report.pdf#{n}") for n in (1, 2)]
    await ready(pool, ALICE, upload(tmp_path, "2", replace=True), "another one")
    assert await texts(originals, ALICE, *entries) == {f"{old.id}:1": "another one"}
    for document in (await DocumentStore(pool).list(ALICE, cursor=None, limit=9))[0]:
        assert await DocumentStore(pool).remove(ALICE, document.id)
    assert await texts(originals, ALICE, *entries) == {}


async def test_memories_are_found_in_the_record(pool: Pool, originals: OriginalStore) -> None:
    kept, gone = (memory(ANN, text, kind="style") for text in ("one", "two"))
    await enter(pool, ANN, kept, gone)
    await pool.execute(GONE, gone.id)
    entries = [line("memories", each.id) for each in (kept, gone)]
    assert await texts(originals, ANN, *entries) == {kept.id: "one"}
    assert await originals.cards(ANN, [kept.id, gone.id]) == {kept.id: kept}
    for stranger in (Scope(user_id="ben"), Scope("other", user_id="ann"), Scope()):
        assert await texts(originals, stranger, *entries) == {}
    passage = (await originals.passages(ANN, entries[:1]))["memories", kept.id]
    day = kept.created_at.date().isoformat()
    assert passage.fields == {"collection": RAW, "kind": "style", "said_on": day}


async def test_what_older_tools_wrote_is_asked_of_the_engine(
    pool: Pool, originals: OriginalStore, edge: QdrantProcess
) -> None:
    """Of this user; not what the record knows to be removed, nor anything while an erasure is under way."""
    mine = await plant(edge, RAW, "7", user_id="ann", content="older", kind="idea")
    removed = await plant(edge, RAW, named("gone"), user_id="ann", text="gone", **MARK)
    other = await plant(edge, RAW, "8", user_id="ben", text="bens")
    entries = [line("memories", key) for key in (mine, removed, other)]
    assert await texts(originals, ANN, *entries) == {mine: "older"}
    assert (await originals.cards(ANN, [mine]))[mine].kind == "idea"
    assert (await originals.passages(ANN, entries))["memories", mine].said_on is None
    await withdraw(pool, ANN)
    await pool.execute(ERASING)
    assert await texts(originals, ANN, *entries) == {}


async def test_reference_texts_are_found_in_the_record_and_beside_it(
    pool: Pool, originals: OriginalStore, edge: QdrantProcess
) -> None:
    """Of the tenant: what was removed from the record is gone, whatever the engine still has."""
    await pool.execute(TEXTS, named("a"), "a", '{"kind": "law"}')
    for name in ("a", "b"):
        await plant(edge, "rivers", named(name), tenant="default", text="stale", **MARK)
    await plant(edge, "rivers", named("older"), chunk="older")
    await plant(edge, "rivers", named("theirs"), tenant="other", text="theirs")
    entries = [line("corpus", f"rivers/{named(name)}") for name in ("a", "b", "older", "theirs")]
    missing = line("corpus", "nowhere/7")
    found = await originals.passages(Scope(), [*entries, missing])
    assert {key: passage.text for (_, key), passage in found.items()} == {
        entries[0].id: "a",
        entries[2].id: "older",
    }
    assert [passage.fields["kind"] for passage in found.values()] == ["law", "reference"]
    assert found["corpus", entries[0].id].fields["collection"] == "rivers"


async def test_turns_are_found_in_their_thread(pool: Pool, originals: OriginalStore) -> None:
    await tell(pool, ALICE, [Turn(Role.USER, "why?"), Turn(Role.ASSISTANT, "because")], answer_id="a")
    ids = [str(row["id"]) for row in await pool.fetch("SELECT id FROM public.chat_log ORDER BY id")]
    found = await originals.turns(ALICE, [*ids, "999"])
    assert [(key, turn.content) for key, turn in found.items()] == [(ids[0], "why?"), (ids[1], "because")]
    assert await originals.turns(replace(ALICE, session_id="s2"), ids) == {}


async def test_words_are_found_in_their_thread_by_their_hash(pool: Pool, originals: OriginalStore) -> None:
    why = "wieso, pourquoi, ¿por qué?"
    await tell(pool, ALICE, [Turn(Role.USER, why), Turn(Role.ASSISTANT, "because")], answer_id="a")
    wanted = [sha256(why), sha256("never said")]
    assert await originals.said(ALICE, wanted) == {wanted[0]: why}
    assert await originals.said(replace(ALICE, session_id="s2"), wanted) == {}


class Away(QdrantProcess):
    def __init__(self) -> None:
        """Nothing is open."""

    rejected = False

    async def scroll(self, *_: object, **__: object) -> list[Point]:
        raise RetrievalError("unavailable", rejected=self.rejected)

    async def collections(self) -> list[Collection]:
        await self.scroll()
        return []


class Refusing(Away):
    """One that refuses what is asked of a collection, and lists it."""

    rejected = True

    async def collections(self) -> list[Collection]:
        return [Collection(RAW, 32), Collection("rivers", 32)]


async def test_a_store_that_does_not_answer_is_no_erasure(pool: Pool) -> None:
    """Of Qdrant only what the record does not know is asked; without Postgres nothing can be said."""
    kept = memory(ANN, "one")
    await enter(pool, ANN, kept)
    for engine in (Away(), Refusing()):
        originals = OriginalStore(pool, engine)
        assert await texts(originals, ANN, line("memories", kept.id)) == {kept.id: "one"}
        for entry in (line("memories", named("older")), line("corpus", "rivers/7")):
            with pytest.raises(Unavailable):
                await originals.passages(ANN, [entry])
    assert await texts(OriginalStore(pool, Refusing()), ANN, line("corpus", "nowhere/7")) == {}
    await pool.close()
    for source, key in (("documents", "d:1"), ("memories", kept.id), ("corpus", "rivers/7")):
        with pytest.raises(Unavailable):
            await originals.passages(ANN, [line(source, key)])
    with pytest.raises(Unavailable):
        await originals.turns(ANN, ["7"])
    with pytest.raises(Unavailable):
        await originals.said(ANN, ["ab"])


async def test_rows_of_projects_are_found_as_a_search_would(pool: Pool, edge: QdrantProcess) -> None:
    thn, ada = Scope(project="THN"), Scope(owner="ada", project="THN")
    rows = await open_project_sources(pool, IndexCache(SPACE.dim), SPACE)
    originals = OriginalStore(pool, edge, {name: source.named for name, source in rows.by_name.items()})
    [shared] = await insert(pool, CONVERSATION, conversation(thn, "THN", "long", title="Network"))
    [own] = await insert(pool, CONVERSATION, conversation(ada, "THN", "mine"))
    [dream] = await insert(pool, CONVERSATION, conversation(thn, "DAAS", "sea"))
    entries = [line("conversations", key) for key in (shared, own, dream)] + [line("dreams", dream)]
    found = await originals.passages(thn, entries)
    [searched] = await rows.conversations.newest(thn, 5)
    assert found == {("conversations", shared): searched}
    assert set(await originals.passages(ada, entries)) == {
        ("conversations", shared), ("conversations", own),
    }  # fmt: skip
    anywhere = await originals.passages(Scope(), entries)
    assert set(anywhere) == {("conversations", shared), ("dreams", dream)}
    assert await originals.passages(Scope(tenant="other"), entries) == {}
    await pool.close()
    with pytest.raises(Unavailable):
        await originals.passages(thn, entries)
