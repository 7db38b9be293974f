"""A service in this process for measurements of quality: behind real HTTP, and what it embedded once is kept.

Stores are temporary and its own; vectors are where `ibid eval` keeps them, so a second run embeds only what
changed. Quality alone: nothing here may be timed.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import httpx

from app.cli.serve import bind, serving, url
from app.cli.terminal import configured
from app.db.documents import Parser
from app.evaluation.run import VECTORS, KeptEmbedder, isolated, open_vectors
from app.main import create_app
from app.wiring import open_services

LOCAL = "127.0.0.1"
PATIENCE_SECONDS = 3_600.0
"""For one request: the upload of a large file on a busy machine."""


@asynccontextmanager
async def remembering(
    cache: Path | None = None, *, parser: Parser | None = None, **rag: object
) -> AsyncIterator[httpx.AsyncClient]:
    """A client of a fresh Ibid. `cache`: where vectors are kept, the data folder if left out; `parser`:
    another than that of PDFs; `rag`: settings of RAG_ other than the configured ones."""
    config = configured(None)
    with (
        TemporaryDirectory(prefix="ibid-bench-") as folder,
        open_vectors(cache or config.ibid.data_dir / VECTORS) as kept,
    ):
        own = isolated(config, Path(folder))
        own = own.model_copy(update={"rag": own.rag.model_copy(update=rag)})
        async with open_services(own, parser, partial(KeptEmbedder, vectors=kept)) as services:
            bound = bind(LOCAL, 0)
            async with (
                serving(create_app(own, services), bound),
                httpx.AsyncClient(
                    base_url=url(bound, LOCAL), timeout=PATIENCE_SECONDS, trust_env=False
                ) as client,
            ):
                yield client
