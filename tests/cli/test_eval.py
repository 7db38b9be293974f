"""`ibid eval`: folders measured on stores of their own, through the real write side and search."""

import json
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from io import StringIO
from pathlib import Path

from anyio.from_thread import start_blocking_portal
from pydantic import SecretStr
from rich.console import Console
from rich.table import Table

from app.cli.eval import remarks, ways
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


def test_one_broken_folder_stops_all_before_any_work(ibid: Ibid) -> None:
    """With the file and the line; what an earlier run has written stays."""
    mine, ours = written(ibid.place / "mine", "ada"), written(ibid.place / "ours", None)
    with (ours / "corpus.jsonl").open("a") as file:
        file.write('\n{"id": "t1", "text": "again"}')
    (ibid.place / "q.jsonl").write_text("earlier")

    done = ibid.process("eval", str(mine), str(ours), "--queries", "q.jsonl")

    assert (done.code, done.out) == (2, "")
    said = "corpus.jsonl, line 3: the id 't1' is there twice, first in line 1"
    assert done.err == f"ibid: {ours / said}\n"
    assert (ibid.place / "q.jsonl").read_text() == "earlier"
    assert not ibid.data.exists()


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


GUIDE = Path(__file__).parents[2] / "docs" / "guide"


def sections(folder: Path) -> Path:
    """Some of the guide as a benchmark: each section a text, its heading the question."""
    folder.mkdir()
    texts, questions = [], []
    for page in sorted(GUIDE.glob("*.md"))[:3]:
        for n, part in enumerate(page.read_text().split("\n## ")[1:]):
            heading, _, text = part.partition("\n")
            name = f"{page.stem}-{n}"
            texts.append({"id": name, "text": text[:1_000]})
            questions.append({"id": name, "text": f"{heading} ({page.stem})", "rel": {name: 1}})
    for name, rows in (("corpus", texts), ("queries_dev", questions)):
        (folder / f"{name}.jsonl").write_text("\n".join(map(json.dumps, rows)))
    return folder


def test_the_engine_alone_finds_what_the_exact_index_finds(ibid: Ibid) -> None:
    """Chroma among documents at least .95 of what exact dense retrieval finds in the corpus, to which texts
    go that have no scopes. Nothing is degraded."""
    guide = sections(ibid.place / "guide")
    [exact] = lines(ibid.process("eval", str(guide), "--json").out)
    [told] = lines(ibid.process("eval", str(guide), "--json", "--source", "documents", EXACT_MAX_MB="0").out)
    assert (exact["source"], exact["searched"]) == ("corpus", ["exact"])
    assert (told["source"], told["searched"], told["degraded"]) == ("documents", ["engine"], {})
    wanted = exact["ablations"]["meaning"]["metrics"]["recall@20"]
    assert told["ablations"]["meaning"]["metrics"]["recall@20"] >= 0.95 * wanted > 0.4


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


FIGURES = {
    "metrics": dict.fromkeys(MEASURES, 0.5),
    "intervals": {name: [0.25, 1.0] for name in MEASURES},
}
RESULT = {
    "set": "birds[1]",
    "split": "dev",
    "source": "memories",
    "queries": 1_200,
    "ablations": dict.fromkeys(ABLATIONS, FIGURES),
    "unanswerable": 0,
    "dangling": 0,
    "degraded": {},
}


def printed(shown: Table) -> list[list[str]]:
    """Its lines, in words."""
    out = StringIO()
    Console(file=out, width=80).print(shown)
    return [line.split() for line in out.getvalue().splitlines()]


def test_a_folder_has_a_line_a_way() -> None:
    """With every measure, its interval below; nothing is cut off."""
    title, head, *lines = printed(ways(RESULT))

    assert title == ["birds[1]", "(dev),", "memories,", "1,200", "questions"]
    assert head == list(MEASURES)
    assert [line[0] for line in lines[::2]] == list(ABLATIONS)
    assert lines[0][1:] == [".500"] * len(MEASURES)
    assert lines[1] == ["[.25", "1.00]"] * len(MEASURES)


def test_what_makes_figures_doubtful_is_told() -> None:
    """And nothing where there is nothing to tell."""
    doubtful = {"unanswerable": 2, "dangling": 1, "degraded": {"memories: timeout": 3}}

    told = " / ".join(remarks({**RESULT, **doubtful}))

    assert not list(remarks(RESULT))
    assert "2 questions" in told
    assert "1 grade " in told
    assert "memories: timeout (3)" in told
