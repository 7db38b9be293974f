"""`ibid eval`: folders measured on stores of their own, through the real write side and search."""

import json
import os
import signal
import subprocess
import threading
import time
from io import StringIO
from pathlib import Path

import pytest
from anyio.from_thread import start_blocking_portal
from pydantic import SecretStr
from rich.console import Console

from app.cli.eval import distinct, interruptible, writable, write
from app.db.folder import take
from app.errors import BadInput
from app.evaluation.data import ABLATIONS, MEASURES, Benchmark, Question
from app.evaluation.figures import result
from app.evaluation.report import Speed, report, times
from app.evaluation.run import Found, isolated
from app.settings import Ibid as IbidKnobs
from app.settings import OpenAI, Postgres, Qdrant, Settings
from tests.cli.conftest import COMMAND_SECONDS, PROGRAM, Ibid, lines
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


def test_a_folder_is_measured_on_stores_of_its_own(ibid: Ibid) -> None:
    """Texts with scopes as memories, four ways, against an earlier run; times stand apart from figures. In
    the data folder is what was embedded, and nothing else."""
    mine = written(ibid.place / "mine", "ada")
    lost = {**PERFECT, "mrr": 0.25}
    row = {"set": "mine", "split": "dev", "source": "memories", "id": "q1", "metrics": {"all": lost}}
    (ibid.place / "before.jsonl").write_text(json.dumps(row))
    files = ("--queries", "out/q.jsonl", "--times", "out/t.jsonl")

    done = ibid.process("eval", str(mine), "--json", *files, "--against", "before.jsonl")

    assert done.code == 0, done.err
    (told,) = lines(done.out)
    assert (told["set"], told["split"], told["source"]) == ("mine", "dev", "memories")
    assert told["metrics"] == PERFECT
    assert told["intervals"]["recall@5"] == [1.0, 1.0]
    assert list(told["ablations"]) == list(ABLATIONS)
    assert (told["queries"], told["unanswerable"], told["stored"]) == (1, 1, 2)
    assert told["against"]["measures"]["mrr"]["wins"] == 1
    (kept,) = lines((ibid.place / "out/q.jsonl").read_text())
    assert (kept["id"], kept["found"][0], kept["metrics"]["all"]) == ("q1", "t2", PERFECT)
    (pace,) = lines((ibid.place / "out/t.jsonl").read_text())
    assert (pace["embedded"], pace["texts_s"] > 0) == ({"texts": 2, "questions": 1}, True)
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


def test_two_outputs_of_one_name_are_refused_before_any_work(ibid: Ibid) -> None:
    """Else the second would fail after hours, or only it would be there."""
    mine = written(ibid.place / "mine", "ada")

    done = ibid.process("eval", str(mine), "--queries", "x.jsonl", "--times", "./x.jsonl")

    assert (done.code, done.err) == (2, "ibid: --queries and --times name the same file, x.jsonl\n")
    assert not ibid.data.exists()


def test_sigterm_leaves_nothing_behind(ibid: Ibid) -> None:
    """As Ctrl-C: no stores with somebody's texts, and no half file. What there is nothing to compare with
    has been told before."""
    mine, scratch = written(ibid.place / "mine", "ada"), ibid.place / "scratch"
    scratch.mkdir()
    figures = {"all": PERFECT}
    row = {"set": "theirs", "split": "dev", "source": "memories", "id": "q1", "metrics": figures}
    (ibid.place / "before.jsonl").write_text(json.dumps(row))
    arguments = ("eval", "mine", "--queries", "out/q.jsonl", "--against", "before.jsonl")
    process = subprocess.Popen(
        [PROGRAM, *arguments],
        cwd=mine.parent,
        env=ibid.environment(TMPDIR=str(scratch)),
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        deadline = time.monotonic() + COMMAND_SECONDS
        while not list(scratch.glob("ibid-eval-*/*")) and time.monotonic() < deadline:
            assert process.poll() is None
            time.sleep(0.02)
        process.send_signal(signal.SIGTERM)
        _, said = process.communicate(timeout=COMMAND_SECONDS)
    finally:
        process.kill()
        process.wait()

    assert process.returncode == 130
    assert "nothing in before.jsonl to compare mine with" in said
    assert not list(scratch.glob("ibid-eval-*"))
    assert not list((ibid.place / "out").iterdir())


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


def test_what_a_killed_run_left_is_removed_by_the_next(ibid: Ibid) -> None:
    """Stores with somebody's texts; those of a run that lives stay."""
    mine, scratch = written(ibid.place / "mine", "ada"), ibid.place / "scratch"
    dead, living = scratch / "ibid-eval-dead", scratch / "ibid-eval-living"
    for folder in (dead, living):
        folder.mkdir(parents=True)
        (folder / "texts").write_text("kept")
    descriptor = take(living)
    (dead / "ibid.lock").write_text('{"pid": 1, "url": "", "token": ""}')
    for folder in (dead, living):
        os.utime(folder, (0, 0))
    try:
        done = ibid.process("eval", str(mine), TMPDIR=str(scratch))
    finally:
        os.close(descriptor)

    assert done.code == 0
    assert [folder.name for folder in scratch.glob("ibid-*")] == ["ibid-eval-living"]


@pytest.mark.parametrize("handler", [signal.default_int_handler, signal.SIG_IGN], ids=["heard", "ignored"])
def test_sigterm_interrupts_whatever_becomes_of_ctrl_c(handler: signal.Handlers) -> None:
    """Where a shell has it ignored, too; what was there before stands again."""
    before = signal.signal(signal.SIGINT, handler), signal.getsignal(signal.SIGTERM)
    try:
        with pytest.raises(KeyboardInterrupt), interruptible():
            signal.raise_signal(signal.SIGTERM)
    finally:
        signal.signal(signal.SIGINT, before[0])

    assert signal.getsignal(signal.SIGTERM) is before[1]


def test_vectors_are_kept_where_the_option_says(ibid: Ibid) -> None:
    """Told before any work, if they cannot be."""
    mine = written(ibid.place / "mine", "ada")
    (ibid.place / "place" / "embeddings.sqlite").mkdir(parents=True)

    done = ibid.process("eval", str(mine), "--cache", "place")

    assert (done.code, done.out) == (1, "")
    assert done.err.startswith("ibid: place/embeddings.sqlite cannot be used")


def test_the_tables_show_figures_differences_groups_and_times() -> None:
    questions = [Question("1", "?", {"a": 1}, "en"), Question("2", "?", {"a": 1}, "de")]
    benchmark = Benchmark("b", "dev", [], questions, dangling=2)
    figures = {way: dict.fromkeys("12", PERFECT) for way in ABLATIONS}
    told = result(benchmark, "corpus", Found(), figures)
    seconds = {"texts": 1.0, "questions": 1.0, "whole": 2.0}
    speed = Speed(seconds, seconds, {"texts": 3})
    out = StringIO()
    for part in report(told, times(told, speed, [{"words": 1.0, "total": 2.0}])):
        Console(file=out, width=80).print(part)

    for shown in ("all against", "(best single)", "en ", "de ", "p95", "embedded 3 texts"):
        assert shown in out.getvalue()


def test_texts_without_scopes_go_to_the_corpus(ibid: Ibid) -> None:
    """And elsewhere if the option says so."""
    ours = written(ibid.place / "ours", None)

    done = ibid.process("eval", str(ours), "--json")
    asked = ibid.process("eval", str(ours), "--json", "--source", "documents")

    assert [told["source"] for told in lines(done.out + asked.out)] == ["corpus", "documents"]
    assert [told["stored"] for told in lines(done.out + asked.out)] == [2, 2]


def test_a_measurement_touches_no_store_that_is_configured(tmp_path: Path) -> None:
    """Only the models stay as they are; nothing is cached."""
    settings = Settings(
        _env_file=None,
        ibid=IbidKnobs(workers=0),
        openai=OpenAI(api_key=SecretStr("k")),
        postgres=Postgres(dsn=SecretStr("postgresql://theirs/ibid")),
        qdrant=Qdrant(url="http://theirs:6333"),
    )

    own = isolated(settings, tmp_path)

    assert (own.postgres.dsn, own.chroma.url, own.qdrant.url, own.cache.url) == (None, None, None, None)
    assert (own.ibid.data_dir, own.ibid.workers, own.rag.cache_ttl_seconds) == (tmp_path, 1, 0)
    assert own.openai == settings.openai


def test_a_file_is_there_once_all_is_written(tmp_path: Path) -> None:
    """In a folder that is made; until then what stood there stays."""
    path = tmp_path / "out" / "x.jsonl"
    path.parent.mkdir()
    path.write_text("before")

    with writable(path) as file:
        write(file, [{"a": "é"}, {"b": 1}])
        assert path.read_text() == "before"

    assert [json.loads(line) for line in path.read_text("utf-8").splitlines()] == [{"a": "é"}, {"b": 1}]
    assert [each.name for each in path.parent.iterdir()] == ["x.jsonl"]


def test_what_fails_on_the_way_leaves_the_file_as_it_was(tmp_path: Path) -> None:
    """And nothing beside it."""
    path = tmp_path / "x"
    path.write_text("before")

    def fail() -> None:
        with writable(path) as file:
            write(file, [{"half": 1}])
            write(file, [{"no JSON": b""}])

    with pytest.raises(TypeError):
        fail()

    assert path.read_text() == "before"
    assert [each.name for each in tmp_path.iterdir()] == ["x"]


def test_a_place_that_cannot_be_written_to_is_told(tmp_path: Path) -> None:
    """Before minutes of work: a folder, a folder that is a file, a name too long, links in a circle."""
    (tmp_path / "file").write_text("")
    (tmp_path / "round").symlink_to(tmp_path / "round")

    with pytest.raises(BadInput, match="cannot be written: Is a directory"), writable(tmp_path):
        pass
    for place in (tmp_path / "file" / "x", tmp_path / ("x" * 256), tmp_path / "round"):
        with pytest.raises(BadInput, match=f"{place} cannot be written"), writable(place):
            pass


def test_a_link_stays_and_what_it_names_is_written(tmp_path: Path) -> None:
    """Even if it names nothing yet."""
    link, there = tmp_path / "link", tmp_path / "folder" / "x"
    link.symlink_to(there)

    with writable(link) as file:
        file.write("new")

    assert link.is_symlink()
    assert there.read_text() == "new"
    assert [each.name for each in there.parent.iterdir()] == ["x"]


def test_a_pipe_stays_a_pipe(tmp_path: Path) -> None:
    """Who reads at its other end gets the lines."""
    pipe, read = tmp_path / "pipe", list[str]()
    os.mkfifo(pipe)
    reader = threading.Thread(target=lambda: read.append(pipe.read_text()), daemon=True)
    reader.start()

    with writable(pipe) as file:
        file.write("new")
    reader.join(10)

    assert read == ["new"]
    assert pipe.is_fifo()


def test_two_runs_may_write_the_same_file(tmp_path: Path) -> None:
    """The last one to end is kept, whole."""
    path = tmp_path / "x"

    with writable(path) as first, writable(path) as second:
        first.write("first")
        second.write("second")

    assert path.read_text() == "first"
    assert [each.name for each in tmp_path.iterdir()] == ["x"]


def test_two_options_may_not_name_one_file(tmp_path: Path) -> None:
    """By whatever name; what is thrown away may be shared."""
    (tmp_path / "link").symlink_to(tmp_path / "x")

    with pytest.raises(BadInput, match="--queries and --times name the same file"):
        distinct({"--queries": tmp_path / "x", "--times": tmp_path / "link"})
    distinct({"--queries": tmp_path / "x", "--times": tmp_path / "y"})
    distinct({"--queries": Path("/dev/null"), "--times": Path("/dev/null")})
