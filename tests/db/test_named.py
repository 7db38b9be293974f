"""Ids in tables whose id another tool may have typed."""

import asyncio
import uuid
from collections.abc import Sequence

import pytest

from app.db.projects import LINKS, Called, Found, chosen, links, literal, located, made
from app.errors import Rejected

GIVEN = "0c9d1a52-3e5f-4d0f-9a53-5d0e8a432c0f"
OURS = str(uuid.uuid5(uuid.NAMESPACE_DNS, "x"))
NUMBER = str(uuid.UUID(OURS).int >> 65)
NEXT = str(uuid.uuid5(uuid.UUID(OURS), "next"))


@pytest.mark.parametrize(
    ("kind", "name", "found"),
    [
        ("uuid", GIVEN.upper(), GIVEN),
        ("uuid", f"{{{GIVEN}}}", GIVEN),
        ("uuid", "chat-1", None),
        ("text", "chat-1", "chat-1"),
        ("character varying(40)", GIVEN.upper(), GIVEN.upper()),
        ("bigint", "007", "7"),
        ("bigint", "-7", None),
        ("bigint", "٣", None),
        ("numeric(20,0)", "9" * 400, None),
        ("bigint", str((1 << 63) - 1), str((1 << 63) - 1)),
        ("bigint", str(1 << 63), None),
        ("bigint", GIVEN, None),
    ],
)
def test_a_name_is_an_id_or_none(kind: str, name: str, found: str | None) -> None:
    """As the type has it."""
    assert literal(kind, name) == found


def test_a_uuid_of_ours_fits_any_type() -> None:
    """Into 63 bits as a number."""
    assert made("uuid", OURS) == made("text", OURS) == OURS
    assert made("bigint", OURS) == NUMBER
    assert 0 < int(NUMBER) < 1 << 63


@pytest.mark.parametrize("kind", ["integer", "smallint", "bytea", "text[]", "timestamp with time zone"])
def test_other_types_are_refused(kind: str) -> None:
    """By name."""
    for asked in (literal, made):
        with pytest.raises(Rejected, match="not written here"):
            asked(kind, OURS)


@pytest.mark.parametrize(
    ("kind", "given", "own", "taken", "key"),
    [
        pytest.param("uuid", None, (), (), OURS, id="unnamed"),
        pytest.param("uuid", GIVEN, (), (), GIVEN, id="a free UUID stands"),
        pytest.param("uuid", GIVEN, (GIVEN,), (GIVEN,), GIVEN, id="his own is replaced"),
        pytest.param("uuid", GIVEN, (), (GIVEN,), OURS, id="another's is not"),
        pytest.param("uuid", GIVEN, (), (GIVEN, OURS), NEXT, id="nor is ours, where another has it"),
        pytest.param("uuid", None, (NEXT,), (OURS, NEXT), NEXT, id="which is found again"),
        pytest.param("uuid", None, (NEXT,), (NEXT,), NEXT, id="also when the other is gone"),
        pytest.param("uuid", GIVEN, (OURS,), (OURS,), OURS, id="what is there wins over what is free"),
        pytest.param("uuid", "chat-1", (), (), OURS, id="a name"),
        pytest.param("text", "chat-1", (), (), OURS, id="a name in a table of texts"),
        pytest.param("text", "chat-1", ("chat-1",), ("chat-1",), "chat-1", id="their own name"),
        pytest.param("bigint", "7", (), (), NUMBER, id="a number"),
        pytest.param("bigint", "7", ("7",), ("7",), "7", id="their own number"),
    ],
)
def test_the_row_that_is_there_decides(
    kind: str, given: str | None, own: tuple[str, ...], taken: tuple[str, ...], key: str
) -> None:
    """Then what was given, then ours."""
    assert chosen(kind, Called(given, OURS), links(kind, OURS), (own, taken)) == key


def test_who_may_not_keep_an_id_replaces_by_it_alone() -> None:
    """His own row has it; a free one he does not take, where others may need it."""
    called = Called(GIVEN, OURS, keeps=False)

    assert chosen("uuid", called, [OURS], ((), ())) == OURS
    assert chosen("uuid", called, [OURS], ((GIVEN,), (GIVEN,))) == GIVEN


@pytest.mark.parametrize("kind", ["uuid", "text", "bigint"])
async def test_a_chain_ends_where_nobody_is(kind: str) -> None:
    """However many of it were taken."""
    *others, last = links(kind, OURS, LINKS * 3)

    async def find(ids: Sequence[str]) -> Found:
        return (), set(ids) & set(others)

    assert await located(kind, [Called(None, OURS), Called(None, GIVEN)], find) == [last, made(kind, GIVEN)]


async def test_ids_are_made_beside_the_event_loop() -> None:
    """A megabyte of code has thousands of chunks. Their ids must not hold up other requests."""
    other = asyncio.create_task(asyncio.sleep(0))
    asked: list[Sequence[str]] = []

    async def find(ids: Sequence[str]) -> Found:
        asked.append(ids)
        return (), ()

    assert await located("uuid", [Called(None, OURS)], find, count=1) == [OURS]
    assert asked == [[OURS]]
    assert other.done()
