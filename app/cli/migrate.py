"""`ibid migrate`: the database brought up to date without starting the service, for rollouts in steps."""

from app.cli.store import open_store
from app.cli.terminal import DataDir, configured, run, tell
from app.config import Settings


def migrate(data_dir: DataDir = None) -> None:
    """Bring the database up to date; the service also does this at its start."""
    run(migrated(configured(data_dir)))


async def migrated(config: Settings) -> None:
    """Opening the record migrates it."""
    async with open_store(config):
        tell("The database is up to date.")
