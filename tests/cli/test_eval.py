"""`ibid eval`: folders measured on stores of their own, through the real write side and search."""

import json
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from anyio.from_thread import start_blocking_portal
from pydantic import SecretStr

from app.db.folder import take
from app.evaluation.data import ABLATIONS, MEASURES
from app.evaluation.run import isolated
from app.settings import Ibid as IbidKnobs
from app.settings import OpenAI, Postgres, QdrantSettings, Settings
from tests.cli.conftest import Ibid, lines
from tests.fakes.model import Fault, model_server

FERRY = "The ferry to Samso leaves at seven in the morning."
BEES = "My sister keeps bees behind the old mill."
PERFECT = {**dict.fromkeys(MEASURES, 1.0), "failure@20": 0.0}


def written(folder: Path, scope: str | None) -> Path:
    """Two texts and a question that one of them answers."""
    folder.mkdir()
    belongs = {"scope": scope}
    texts = [{"id": "t1", "text": FERRY, **belongs}, {"id": "t2", "text": BEES, **belongs}]
    questions = [
        {"id": "q1", "text": "Who keeps bees?", "rel": {"t2": 1}, **belongs},
        {"id": "q2", "text": "Why?", "rel": {}, **belongs},
    ]
    for name, rows in (("corpus", texts), ("queries_dev", questions)):
        (folder / f"{name}.jsonl").write_text("\n".join(map(json.dumps, rows)))
    return folder


@contextmanager
def killed(scratch: Path) -> Iterator[None]:
    """Stores with somebody's texts, of a run that was killed and of one that lives."""
    dead, living = scratch / "ibid-eval-dead", scratch / "ibid-eval-living"
    for folder in (dead, living):
        folder.mkdir(parents=True)
        (folder / "texts").write_text("kept")
    descriptor = take(living)
    (dead / "ibid.lock").write_text('{"pid": 1, "url": "", "token": ""}')
    for folder in (dead, living):
        os.utime(folder, (0, 0))
    try:
        yield
    finally:
        os.close(descriptor)


def test_a_folder_is_measured_on_stores_of_its_own(ibid: Ibid) -> None:
    """Texts with scopes as memories, four ways, against an earlier run. The data folder then has the vectors,
    and nothing else; stores of a run that was killed are removed, those of one that lives stay."""
    mine = written(ibid.place / "mine", "ada")
    lost = {**PERFECT, "mrr": 0.25}
    row = {"set": "mine", "split": "dev", "source": "memories", "id": "q1", "metrics": {"all": lost}}
    (ibid.place / "before.jsonl").write_text(json.dumps(row))
    files = ("--queries", "q.jsonl")

    scratch = ibid.place / "scratch"
    with killed(scratch):
        against = ("--against", "before.jsonl")
        done = ibid.process("eval", str(mine), "--json", *files, *against, TMPDIR=str(scratch))

    assert done.code == 0, done.err
    assert [folder.name for folder in scratch.glob("ibid-*")] == ["ibid-eval-living"]
    (told,) = lines(done.out)
    assert (told["set"], told["split"], told["source"]) == ("mine", "dev", "memories")
    assert told["metrics"] == PERFECT
    assert told["intervals"]["recall@5"] == [1.0, 1.0]
    assert list(told["ablations"]) == list(ABLATIONS)
    assert (told["queries"], told["unanswerable"], told["stored"]) == (1, 1, 2)
    assert told["against"]["measures"]["mrr"]["wins"] == 1
    (kept,) = lines((ibid.place / "q.jsonl").read_text())
    assert (kept["id"], kept["found"][0], kept["metrics"]["all"]) == ("q1", "t2", PERFECT)
    assert [path.relative_to(ibid.data).as_posix() for path in ibid.data.rglob("*")] == [
        "eval",
        "eval/embeddings.sqlite",
    ]


def test_a_busy_embedding_server_is_waited_for(ibid: Ibid) -> None:
    """Refused a dozen times, a text is embedded all the same: a measurement has no deadline."""
    mine = written(ibid.place / "mine", "ada")
    ended = threading.Event()
    with start_blocking_portal() as portal, portal.wrap_async_context_manager(model_server()) as model:

        def refused() -> int:
            return sum("Samso" in str(request.body) for request in model.asked("/embeddings"))

        def recover() -> None:
            while refused() < 12 and not ended.wait(0.02):
                pass
            model.fault = Fault()

        model.fault = Fault(status=429, text="Samso", retry_after="0.01")
        waiting = threading.Thread(target=recover)
        waiting.start()
        try:
            done = ibid.process("eval", str(mine), EMBED_BASE_URL=model.url, EMBED_MODEL="fake-embedding")
        finally:
            ended.set()
            waiting.join()

        assert (done.code, refused() >= 12) == (0, True), done.err


def test_a_measurement_touches_no_store_that_is_configured(tmp_path: Path) -> None:
    """Only the models stay as they are; nothing is cached."""
    settings = Settings(
        _env_file=None,
        ibid=IbidKnobs(workers=0),
        openai=OpenAI(api_key=SecretStr("k")),
        postgres=Postgres(dsn=SecretStr("postgresql://theirs/ibid")),
        qdrant=QdrantSettings(url="http://theirs:6333"),
    )

    own = isolated(settings, tmp_path)

    assert (own.postgres.dsn, own.chroma.url, own.qdrant.url, own.cache.url) == (None, None, None, None)
    assert (own.ibid.data_dir, own.ibid.workers, own.rag.cache_ttl_seconds) == (tmp_path, 1, 0)
    assert own.openai == settings.openai
