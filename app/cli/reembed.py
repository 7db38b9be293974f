"""`ibid reembed`: everything stored embedded anew with the configured model, beside the old, then swapped.

For a service that does not start because its vectors are another model's. It needs the data folder for
itself; interrupted, it goes on from where it was at the next run.
"""

from app.cli.progress import shown
from app.cli.terminal import DataDir, Json, as_json, configured, counted, remark, run, tell
from app.settings import Settings
from app.wiring import open_reembed


def reembed(json: Json = False, data_dir: DataDir = None) -> None:
    """Move what is stored to the configured embedding model."""
    chunks = run(reembedded(configured(data_dir)))
    if json:
        as_json({"chunks": chunks})
    else:
        tell(f"{counted(chunks, 'passage')} embedded anew.")


async def reembedded(config: Settings) -> int:
    """Passages embedded by this run."""
    chunks = 0
    async with open_reembed(config) as work:
        with shown("Embedding", await work.total()) as progress:
            async for taken in work.run():
                chunks += taken
                progress.add(taken, "passages")
        for waiting in work.waiting:
            remark(f"{waiting}: the service goes on with it when it runs.")
    return chunks
