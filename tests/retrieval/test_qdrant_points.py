"""The contract of Qdrant's engines: embedded, a server over HTTP, and the vendor's client in memory; and
their points as passages.

The last one is the vendor's own for tests, in Python: it rounds otherwise when points are added, and does not
wait for anything. What hangs on that is asked of the two that users have.
"""

import json
import random
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st
from qdrant_client import AsyncQdrantClient

from app.errors import RetrievalError
from app.retrieval import payload, source
from app.retrieval.points import (
    REFERENCE,
    memory_from_point,
    memory_to_point,
    text_point_passage,
    text_to_point,
)
from app.retrieval.retrievers.points import (
    DENSE,
    Collection,
    Point,
    Where,
    identities,
    identity,
)
from app.retrieval.retrievers.qdrant import Qdrant, QdrantProcess
from app.retrieval.retrievers.qdrant_server import QdrantRemote, connected
from app.retrieval.source import label_suffixes
from app.text.labels import is_label
from app.types import LONG_AGO, Scope
from tests.fakes.filing import bag
from tests.fakes.points import DIM, embedding, ids, meets, owned, point
from tests.fakes.qdrant import qdrant_server
from tests.fakes.recollections import ANN, reference
from tests.fakes.recollections import memory as draft

pytestmark = [  # of the vendor's own small engine
    pytest.mark.filterwarnings("ignore:Payload indexes have no effect"),
    pytest.mark.filterwarnings("ignore:Local mode performs exact"),
]
NAME = "memory_raw"
EVERY = Where()


@asynccontextmanager
async def in_memory(_folder: Path) -> AsyncIterator[Qdrant]:
    engine = QdrantRemote(AsyncQdrantClient(":memory:"))
    yield engine
    await engine.close()


@asynccontextmanager
async def over_http(folder: Path) -> AsyncIterator[Qdrant]:
    with qdrant_server(folder) as server:
        engine = connected(server.url, None)
        yield engine
        await engine.close()


ENGINES: Mapping[str, Callable[[Path], AbstractAsyncContextManager[Qdrant]]] = {
    "embedded": QdrantProcess,
    "in memory": in_memory,
    "server": over_http,
}


@pytest.fixture(params=list(ENGINES))
async def points(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Qdrant]:
    async with ENGINES[request.param](tmp_path / "qdrant") as engine:
        await engine.create(NAME, DIM)
        yield engine


@pytest.fixture(params=["embedded", "server"])
async def real(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Qdrant]:
    async with ENGINES[request.param](tmp_path / "qdrant") as engine:
        await engine.create(NAME, DIM)
        yield engine


async def test_filters_are_exact(points: Qdrant) -> None:
    """Every kind of condition, alone and together, for searches, pages and counts."""
    chance = random.Random(7)  # noqa: S311 - the same on every run
    kinds = [{}, {"kind": "note"}, {"kind": "card"}, {"kind": "fact", "vantage_id": "v"}]
    stored = [point(n, chance.choice("abc"), **chance.choice(kinds)) for n in range(60)]
    await points.put(NAME, stored)
    filters = [*(drawn(chance, stored) for _ in range(25)), Where(has=(("kind", ()),)), Where(ids=())]
    for where in filters:
        wanted = {each.id for each in stored if meets(each, where)}
        found = await points.search(NAME, where, embedding(1), 60, payload=False)
        assert set(ids(found)) == wanted, where
        assert await points.count(NAME, where) == len(wanted), where
        assert {each.id for each in await points.scroll(NAME, where, limit=99)} == wanted, where


def drawn(chance: random.Random, stored: list[Point]) -> Where:
    users = (("user_id", tuple(chance.sample("abcd", 2))),)
    kinds = (("kind", tuple(chance.sample(("note", "card", "fact"), chance.randrange(1, 3)))),)
    return Where(
        has=users if chance.random() < 0.6 else (),
        lacks=kinds if chance.random() < 0.5 else (),
        open=(("vantage_id", ("v",)),) if chance.random() < 0.3 else kinds if chance.random() < 0.3 else (),
        ids=(*ids(chance.sample(stored, 20)), "no-id") if chance.random() < 0.3 else None,
    )


async def test_another_users_points_move_nothing(real: Qdrant) -> None:
    """Every id, score, order and count is the same to the last bit with fifty of another user's beside."""
    await real.put(NAME, [point(n, "ann") for n in range(40)])
    before = await real.search(NAME, owned("ann"), embedding(3), 10)
    await real.put(NAME, [point(n, "bob") for n in range(100, 150)])
    assert await real.search(NAME, owned("ann"), embedding(3), 10) == before
    assert await real.count(NAME, owned("ann")) == 40


async def test_what_is_written_is_read_back(real: Qdrant) -> None:
    """Payload of any JSON, the vector bit for bit; written again it is replaced, at once."""
    told = {"text": "Ünïcode ☃", "n": 1, "f": 1.5, "tags": ["a", "b"], "none": None, "o": {"deep": [1]}}
    one = Point(point(1).id, told, embedding(1))
    await real.put(NAME, [one, point(2)])
    assert await real.scroll(NAME, Where(ids=(one.id,)), limit=5, vectors=True) == [one]
    again = Point(one.id, {"text": "other"}, embedding(9))
    await real.put(NAME, [again])
    assert await real.scroll(NAME, Where(ids=(one.id,)), limit=5, vectors=True) == [again]
    assert await real.count(NAME, EVERY) == 2


async def test_a_point_may_lack_its_vector(points: Qdrant) -> None:
    """Then a search does not find it; it is there all the same."""
    await points.put(NAME, [Point(point(1).id, {}, embedding(1)), Point(point(2).id, {})])
    assert ids(await points.search(NAME, EVERY, embedding(1), 9)) == [point(1).id]
    assert await points.count(NAME, EVERY) == 2


async def test_pages_show_everything_once(points: Qdrant) -> None:
    """By id, however long a page is; a page after the last is empty."""
    stored = [point(n) for n in range(23)]
    await points.put(NAME, stored)
    seen: list[str] = []
    while page := await points.scroll(NAME, EVERY, limit=5, after=seen[-1] if seen else None):
        seen += ids(page)
    assert seen == sorted(ids(stored))


async def test_collections_are_listed_with_their_shape(points: Qdrant) -> None:
    """By name; one that is there already stays as it is, but for new indexes; one that is dropped is gone."""
    await points.put(NAME, [point(1)])
    await points.create("a notebook", 4, keys=("kind",), tenants=("tenant",), times=("created_at",))
    await points.create(NAME, DIM, keys=("kind",), tenants=("tenant",), times=("created_at",))
    ours = Collection("a notebook", 4, DENSE, 0), Collection(NAME, DIM, DENSE, 1)
    assert await points.collections() == list(ours)
    await points.drop("a notebook")
    await points.drop("never was there")
    assert await points.collections() == [ours[1]]


async def test_what_does_not_fit_is_told(points: Qdrant) -> None:
    """A vector of another size, an id that is none: nothing is down, and nothing is written."""
    await points.put(NAME, [point(1)])
    calls = (
        lambda: points.search(NAME, EVERY, embedding(1, DIM + 1), 1),
        lambda: points.put(NAME, [Point(point(2).id, {}, embedding(1, DIM + 1))]),
        lambda: points.put(NAME, [Point("no id", {}, embedding(1))]),
    )
    for call in calls:
        with pytest.raises(RetrievalError) as caught:
            await call()
        assert caught.value.rejected
    assert await points.count(NAME, EVERY) == 1


@pytest.mark.parametrize(
    ("text", "found"),
    [("7", 7), ("00000000-0000-0000-0000-000000000007", UUID(int=7)), ("0" * 31 + "7", UUID(int=7))],
)
def test_ids_are_numbers_or_uuids(text: str, found: object) -> None:
    """As engines know them; digits alone are a number, unless they are too many."""
    assert identity(text) == found


def test_what_can_be_no_id_is_left_out() -> None:
    """No point can have it, so a filter by it holds for none."""
    assert identities(["x", "", "٣", "-1", "18446744073709551616", "5"]) == {5}
    with pytest.raises(ValueError, match="badly formed"):
        identity("x")


WORDS = st.text(st.characters(exclude_categories=["C", "Z"]), min_size=1, max_size=12)


@given(
    text=WORDS,
    kind=WORDS,
    origin=WORDS,
    tags=st.lists(WORDS, max_size=3).map(tuple),
    vantage_id=st.none() | WORDS,
    thread_id=st.none() | WORDS,
    place=st.integers(0, 9),
)
def test_what_was_written_comes_back(text: str, **facts: object) -> None:
    kept = draft(ANN, text, **facts, fields={"weights": {"a": 0.5}})
    wrote = memory_to_point(ANN, kept, bag(text), "bag@32")
    assert memory_from_point(Point(wrote.id, json.loads(json.dumps(dict(wrote.payload))))) == kept


def test_a_card_of_an_older_tool_keeps_what_it_holds() -> None:
    """Its payload's own keys are its fields."""
    card = memory_from_point(
        Point("7", {"user_id": "ann", "kind": "gravity_profile", "weights": {"fm": 1}, "text": "t"})
    )
    assert (card.fields, card.kind, card.created_at) == (
        {"weights": {"fm": 1}},
        "gravity_profile",
        LONG_AGO,
    )


def test_metadata_cannot_say_whose_a_text_is() -> None:
    """Its tenant, its text and its id are not for the writer's metadata to set."""
    forged = {"tenant": "other", "text": "forged", "id": "x", "tokens": 0}
    wrote = text_to_point(Scope(tenant="t"), reference("words", metadata=forged), b"", "s")
    assert (wrote.payload["tenant"], wrote.payload["text"], wrote.payload["tokens"]) == ("t", "words", 1)


def test_a_point_of_nothing_but_text_is_a_passage() -> None:
    """Everything else has a value that says so."""
    found = text_point_passage("a [strange] #name", Point("7", {"chunk": "words"}), "k3v9q2ax", None)
    assert (found.id, found.text, found.title) == ("a [strange] #name/7", "words", "")
    assert is_label(found.label)
    assert found.fields == {
        "id": "7",
        "metadata": None,
        "collection": "a [strange] #name",
        "kind": REFERENCE,
        "origin": "",
        "tags": "",
        "url": None,
    }


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)


NAMES = st.sampled_from(
    ["text", "content", "chunk", "kind", "tags", "url", "created_at", "tokens", "metadata"]
)


PAYLOADS = st.dictionaries(NAMES, JSON)


@given(PAYLOADS)
def test_whatever_was_written_can_be_read(facts: dict[str, Any]) -> None:
    """Every reader gives a value of its kind."""
    text = payload.text(facts)
    assert isinstance(text, str)
    assert isinstance(payload.fact(facts, "kind"), str)
    assert "\n" not in payload.fact(facts, "kind")
    assert all(isinstance(tag, str) and tag for tag in payload.tags(facts))
    assert (payload.link(facts) or "https://").startswith(("https://", "http://"))
    assert payload.tokens(facts, text) >= 0
    moment = payload.moment(facts)
    assert moment is None or moment.tzinfo is UTC


@pytest.mark.parametrize(
    ("value", "moment"),
    [
        ("2026-11-01T09:30:00+00:00", datetime(2026, 11, 1, 9, 30, tzinfo=UTC)),
        ("2026-11-01T09:30:00Z", datetime(2026, 11, 1, 9, 30, tzinfo=UTC)),
        ("2026-11-01T09:30:00", datetime(2026, 11, 1, 9, 30, tzinfo=UTC)),
        ("2026-11-01T10:30:00+01:00", datetime(2026, 11, 1, 9, 30, tzinfo=UTC)),
        (60, datetime(1970, 1, 1, 0, 1, tzinfo=UTC)),
        (1e300, None),
        ("yesterday", None),
        (None, None),
        (float("nan"), None),
    ],
)
def test_times_of_several_kinds(value: object, moment: datetime | None) -> None:
    """RFC 3339, with or without its offset, or seconds; what is none of them is no time."""
    assert payload.moment({"created_at": value}) == moment


@pytest.mark.parametrize(
    ("facts", "day"),
    [
        pytest.param({"created_at": "2026-11-01T00:00:00Z"}, 1, id="written"),
        pytest.param({"updated_at": "2026-11-02T00:00:00Z"}, 2, id="changed"),
        pytest.param({"created_at": "2026-11-01T00:00:00Z", "updated_at": 1793577600}, 2, id="both"),
        pytest.param(
            {"created_at": "2026-11-03T00:00:00Z", "updated_at": "2026-11-02"}, 3, id="turned round"
        ),
        pytest.param({"created_at": "2026-11-01T00:00:00Z", "updated_at": "never"}, 1, id="no time"),
        pytest.param({}, None, id="neither"),
    ],
)
def test_a_text_is_of_when_it_last_changed(facts: dict[str, object], day: int | None) -> None:
    found = payload.dated(facts)
    assert (found.day if found else None) == day


def test_those_that_would_look_alike_are_longer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        source, "digest", lambda text: (b"x" if text[-1] in "ab" else b"y") * 5 + text[-1].encode() * 5
    )
    found = label_suffixes("s", "abc")
    assert found["a"][:8] == found["b"][:8] != found["c"]
    assert list(map(len, found.values())) == [16, 16, 8]
