"""Whether a database has the newest schema, asked without alembic: to import that takes half a second of a
processor, and at nearly every start there is nothing to migrate.

The newest revision is read from the scripts' own lines; a test holds that against alembic. Raises
`StartError` where the scripts are missing, `Damaged`, else what asyncpg raises for a server that is not
there.
"""

import re
import sysconfig
from pathlib import Path

import asyncpg

from app.clients.faults import DAMAGE, damaged
from app.domain.errors import StartError

CONNECT_SECONDS = 10.0

CHECKOUT = Path(__file__).parents[2] / "alembic"
INSTALLED = Path(sysconfig.get_path("data")) / "share" / "ibid" / "alembic"
"""Where pyproject's data-files put the scripts of an installed copy."""

DECLARED = re.compile(r'^(revision|down_revision)\b[^=\n]*= *"(\w+)"', re.MULTILINE)
RECORDED = "SELECT array_agg(version_num) FROM ibid.alembic_version"


def scripts() -> Path:
    """The folder with env.py and versions/."""
    for folder in (CHECKOUT, INSTALLED):
        if (folder / "env.py").is_file():
            return folder
    raise StartError(f"the migration scripts are missing: neither {CHECKOUT} nor {INSTALLED} is there")


def heads() -> list[str]:
    """Revisions that no other builds on: one, or alembic has something to say."""
    told = [dict(DECLARED.findall(path.read_text())) for path in (scripts() / "versions").glob("*.py")]
    below = {each.get("down_revision") for each in told}
    return [each["revision"] for each in told if "revision" in each and each["revision"] not in below]


class Behind(StartError):
    """Whoever only looks found another schema than the newest."""


async def newest(dsn: str) -> bool:
    """Whether there is nothing to migrate. A migration under way has recorded nothing yet."""
    return await recorded(dsn) == heads()


async def recorded(dsn: str) -> list[str] | None:
    """What the database says of itself; None: nothing."""
    connection = await asyncpg.connect(dsn, timeout=CONNECT_SECONDS, command_timeout=CONNECT_SECONDS)
    try:
        found: list[str] | None = await connection.fetchval(RECORDED)
    except DAMAGE as error:
        raise damaged(error) from error
    except asyncpg.PostgresError:  # no such table or schema, or not for us: alembic will tell
        return None
    else:
        return found
    finally:
        await connection.close(timeout=CONNECT_SECONDS)


async def bring(dsn: str) -> None:
    """The database to the newest schema, if it is not there yet."""
    if await newest(dsn):
        return
    from app.clients.migrations import migrate  # noqa: PLC0415 - heavy vendor, opened late

    await migrate(dsn)


async def look(dsn: str) -> None:
    """Nothing, if the schema is the newest, else `Behind`: a service of another version needs its own."""
    found = await recorded(dsn)
    if found is None:
        raise Behind("the database has no tables of Ibid yet")
    if found != heads():
        has, wants = ", ".join(found), ", ".join(heads())
        raise Behind(f"the database has the schema {has}, this version of Ibid wants {wants}")
