"""The record's files: whose they are, and which tables are rewritten."""

import pytest

from app.db import users
from app.db.pool import Pool
from app.db.users import MARKS, TABLES, RecordFiles


async def test_a_configured_server_is_left_alone(pool: Pool) -> None:
    """Its files are its operator's."""
    subject = RecordFiles(pool)

    await subject.compact(list(TABLES))

    assert subject.external


async def test_the_tables_of_what_was_erased_are_rewritten(
    pool: Pool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And no others: a large one that lost nothing need not be locked."""
    asked: list[tuple[str, list[str]]] = []

    async def compact(dsn: str, tables: list[str]) -> None:
        asked.append((dsn, tables))

    monkeypatch.setattr(users, "compact", compact)
    pool.superuser = "postgresql://postgres@/ibid"
    subject = RecordFiles(pool)

    assert not await subject.compact({"chroma"})
    assert not await subject.compact({"answers", "documents"})

    tables = [MARKS, *TABLES["answers"], *TABLES["documents"]]
    assert not subject.external
    assert asked == [("postgresql://postgres@/ibid", tables)]


async def test_tables_of_every_holding_exist(pool: Pool) -> None:
    """A name that is not there would fail the whole compaction."""
    tables = {table for names in TABLES.values() for table in names}

    assert [name for name in sorted(tables) if not await pool.fetchval("SELECT to_regclass($1)", name)] == []
