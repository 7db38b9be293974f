"""`ibid doctor`: every part looked at, each with what was found and, where it is not well, what to do.

Exit 0 when all is well, 1 when one part is not. Nothing is changed but that a missing data folder is made:
nothing is migrated, moved or tidied, which is for a start to do. Two options mend what is damaged of
Postgres.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated

import typer

from app.cli import checks, elders, indexes
from app.cli.checks import Ailment
from app.cli.terminal import DataDir, Json, as_json, run, settings, tell
from app.clients import damage
from app.clients.damage import Damage
from app.db.pool import postgres_faults
from app.errors import IbidError, StartError
from app.settings import Settings

PATIENCE_SECONDS = 60.0
"""For one part: a first start measures an outside model's floor with some thirty texts."""

Check = Callable[[Settings], Awaitable[str]]

PARTS: Mapping[str, Check] = {
    "python": checks.python,
    "packages": checks.packages,
    "data folder": checks.folder,
    "postgres": checks.postgres,
    "postgres files": checks.files,
    "chroma": indexes.chroma,
    "embeddings": checks.embedder,
    "tokens": checks.tokenizer,
    "chat model": checks.chat,
    "qdrant": indexes.qdrant,
    "outbox": indexes.outbox,
    "older tools": elders.older,
    "cache": checks.cache,
    "memory services": checks.memory,
    "reranker": checks.rerank,
    "moderation": checks.moderation,
}


WIDTH = max(map(len, PARTS)) + 2


@dataclass(frozen=True, slots=True)
class Finding:
    """How a part is."""

    part: str
    ok: bool
    found: str
    advice: str = ""
    """What to do; "" where nothing is."""

    def line(self) -> str:
        """`ok      postgres         18.6, pgvector 0.8.6 (embedded)`."""
        told = f"{'ok' if self.ok else 'FAILED':<8}{self.part:<{WIDTH}}{self.found}"
        return f"{told}\n{'':<{8 + WIDTH}}-> {self.advice}" if self.advice else told


def doctor(
    json: Json = False,
    data_dir: DataDir = None,
    rebuild_indexes: Annotated[
        bool, typer.Option("--rebuild-indexes", help="First make damaged indexes of Postgres anew.")
    ] = False,
    give_up_pages: Annotated[
        bool,
        typer.Option(
            "--give-up-pages",
            help="Delete the rows on damaged Postgres pages, and all rows of tables whose file is missing."
            " They cannot be restored: back up the data folder first.",
        ),
    ] = False,
) -> None:
    """Look at every part, and say what to do where one is not well."""
    if give_up_pages:
        run(mended(data_dir, damage.give_up))
    if rebuild_indexes:
        run(mended(data_dir, damage.rebuild))
    findings = run(examined(data_dir))
    for finding in findings:
        if json:
            as_json(asdict(finding))
        else:
            tell(finding.line())
    if not all(finding.ok for finding in findings):
        raise typer.Exit(1)


async def mended(data_dir: Path | None, mend: Callable[[str, Sequence[Damage]], Awaitable[None]]) -> None:
    """Do something about what is damaged. `StartError` for a Postgres that is not ours."""
    config, _ = settings(data_dir)
    if config.postgres.dsn:
        raise StartError("doctor repairs only the embedded Postgres; POSTGRES_DSN names another server")
    with postgres_faults():
        async with checks.embedded(config) as dsn:
            await mend(dsn, (await damage.look(dsn)).damages)


async def examined(data_dir: Path | None) -> list[Finding]:
    """A finding for the settings and, if they can be read, for each part."""
    try:
        config, warnings = settings(data_dir)
    except StartError as error:
        return [Finding("settings", ok=False, found=error.detail, advice="see .env.example")]
    odd = f"; perhaps misspelt: {', '.join(warnings)}" if warnings else ""
    read = Finding("settings", ok=True, found=f"read{odd}")
    # One after another: they open the same folder.
    return [read, *[await finding(part, check, config) for part, check in PARTS.items()]]


async def finding(
    part: str, check: Check, config: Settings, *, patience: float = PATIENCE_SECONDS
) -> Finding:
    """One part, with a deadline."""
    try:
        async with asyncio.timeout(patience):
            return Finding(part, ok=True, found=await check(config))
    except TimeoutError:
        return Finding(part, ok=False, found=f"no answer in {patience:.0f} seconds")
    except Ailment as error:
        return Finding(part, ok=False, found=error.detail, advice=error.advice)
    except IbidError as error:
        return Finding(part, ok=False, found=error.detail)
