"""Whether there is anything to migrate, asked without alembic."""

import subprocess
import sys
from pathlib import Path

import asyncpg
import pytest
from alembic.script import ScriptDirectory

from app.db import postgres
from app.db.migrations import configuration
from app.db.postgres import Behind, bring, heads, look, newest, recorded
from app.errors import StartError


async def execute(dsn: str, sql: str) -> None:
    """Statements."""
    connection = await asyncpg.connect(dsn)
    await connection.execute(sql)
    await connection.close()


def test_the_newest_revision_is_alembics() -> None:
    """Read from the scripts' lines, it is what alembic makes of them."""
    assert heads() == ScriptDirectory.from_config(configuration()).get_heads()


def test_two_newest_revisions_are_told_as_two(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As after a merge of two branches: alembic must be asked, which refuses."""
    (tmp_path / "env.py").touch()
    (tmp_path / "versions").mkdir()
    for name, below in (("a", "None"), ("b", '"a"'), ("c", '"a"')):
        script = f'revision: str = "{name}"\ndown_revision: str | None = {below}\n'
        (tmp_path / "versions" / f"{name}.py").write_text(script)
    monkeypatch.setattr(postgres, "CHECKOUT", tmp_path)
    assert sorted(heads()) == ["b", "c"]


async def test_a_migrated_database_is_the_newest(dsn: str) -> None:
    """Then there is nothing to do."""
    assert await newest(dsn)


@pytest.mark.parametrize(
    "sql",
    [
        pytest.param("UPDATE ibid.alembic_version SET version_num = '0001'", id="older"),
        pytest.param("DELETE FROM ibid.alembic_version", id="none recorded"),
        pytest.param("DROP TABLE ibid.alembic_version", id="no table"),
        pytest.param("DROP SCHEMA ibid CASCADE", id="no schema"),
    ],
)
async def test_any_other_is_for_alembic(dsn: str, sql: str) -> None:
    """Which knows what to do, or refuses."""
    await execute(dsn, sql)
    assert not await newest(dsn)


@pytest.mark.parametrize(
    ("sql", "said"),
    [
        pytest.param(
            "UPDATE ibid.alembic_version SET version_num = '0001'", "the schema 0001, this", id="older"
        ),
        pytest.param(
            "UPDATE ibid.alembic_version SET version_num = '9999'", "the schema 9999, this", id="newer"
        ),
        pytest.param("DROP SCHEMA ibid CASCADE", "no tables of Ibid yet", id="none"),
    ],
)
async def test_who_only_looks_is_told_of_another(dsn: str, sql: str, said: str) -> None:
    """And changes nothing."""
    await look(dsn)
    await execute(dsn, sql)
    before = await recorded(dsn)
    with pytest.raises(Behind, match=said):
        await look(dsn)
    assert await recorded(dsn) == before


async def test_a_newer_one_is_refused(dsn: str) -> None:
    """By alembic, in its own words."""
    await execute(dsn, "UPDATE ibid.alembic_version SET version_num = '9999'")
    with pytest.raises(StartError, match="another version of Ibid"):
        await bring(dsn)


async def test_an_empty_database_is_brought_to_the_newest(dsn: str) -> None:
    """From nothing."""
    await execute(dsn, "DROP SCHEMA ibid CASCADE; DROP TABLE public.chat_log")
    await bring(dsn)
    assert await newest(dsn)


def test_nothing_to_do_is_found_without_alembic(dsn: str) -> None:
    """Nor SQLAlchemy: they are half a second of a start."""
    code = f"import asyncio, sys; from app.db.postgres import bring; asyncio.run(bring({dsn!r}))"
    show = "; print(sorted({'alembic', 'sqlalchemy'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code + show], check=True, capture_output=True, text=True)
    assert done.stdout.strip() == "[]"
