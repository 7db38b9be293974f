"""`ibid migrate`: the database brought up to date without starting the service, for rollouts in steps."""

from app.cli.store import open_store
from app.cli.terminal import DataDir, Json, as_json, configured, run, tell
from app.settings import Settings


def migrate(*, json: Json = False, data_dir: DataDir = None) -> None:
    """Bring the database up to date; the service also does this at its start."""
    run(migrated(configured(data_dir), json=json))


async def migrated(config: Settings, *, json: bool) -> None:
    """Opening the record migrates it."""
    async with open_store(config):
        if json:
            as_json({"migrated": True})
        else:
            tell("The database is up to date.")
